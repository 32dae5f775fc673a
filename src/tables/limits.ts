/** Bounds of tables: each with its unit at the end of its name, and the reason for its value. */

/** DynamoDB's bound on an item. There, attribute names and other attributes use the last of these bytes. */
export const itemBytesMax = 400 * 1024;
/** Items of one page; a caller that needs more requests the next page, or reads the whole table. */
export const pageItemsMax = 1_000;
/** A page ends after the item that reaches this size, as in DynamoDB, because a page is built in memory. */
export const pageBytesMax = 1024 * 1024;
/** Passes over a table that is being dropped while others write to it: a caller that never stops must not hold the request. */
export const dropPassesMax = 100;
/**
 * Items whose ids a drop reads at once, and deletes in commits that are made at once: the longest ids take 2 MB, and a store
 * that sorts its journal for each scan sorts it seldom.
 */
export const dropPageItems = 2_000;
/** Items cached as their response text, and the characters of all of them: the items that are read often. */
export const itemTextsCachedMax = 4_096;
export const itemTextsCachedSizeMax = 4 * 1024 * 1024;
