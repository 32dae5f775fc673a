/** Bounds of tables: each with its unit at the end of its name, and the reason for its value. */

/** DynamoDB's bound on an item; there its last bytes are taken by what DynamoDB counts beside id and name. */
export const itemBytesMax = 400 * 1024;
/** Items of one page; whoever wants more takes the next page, or reads the table as a whole. */
export const pageItemsMax = 1_000;
/** A page ends behind the item that reaches it, as at DynamoDB: a page is made in memory. */
export const pageBytesMax = 1024 * 1024;
