/** A small table: what most requests read. */
export const tenTable = '/v3/table/ten';

export const tenItems: readonly { readonly id: string; readonly name: string }[] = Array.from(
  { length: 10 },
  (_, index) => ({ id: `item-${index}`, name: `The name of item number ${index}` }),
);

/** Creates the table. Throws if a response is not 200. */
export async function createTen(
  origin: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  for (const item of tenItems) {
    const response = await fetch(`${origin}${tenTable}/create`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(item),
    });
    if (response.status !== 200)
      throw new Error(`create returned ${response.status}: ${await response.text()}`);
  }
}
