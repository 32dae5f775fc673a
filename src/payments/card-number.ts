/**
 * Whether a text is, or holds, what looks like a card number: 13–19 digits, also in groups parted by single spaces or
 * hyphens, with a valid Luhn check digit (ISO/IEC 7812-1). Within a longer text the digits must also begin as the
 * card networks' do (2–6), or one in ten time stamps in milliseconds would be taken for a card; and UUIDs, the most
 * common idempotency keys, are passed over.
 */
export function holdsCardNumber(text: string): boolean {
  if (isCardNumber(text.replace(/[ -]/g, ''))) return true;
  const searched = text.replace(uuid, '|');
  const runs = searched.match(/\d{13,}/g) ?? [];
  const rows = searched.match(/\d+(?:[ -]\d+)+/g) ?? [];
  return [...runs, ...rows.flatMap(neighbouringGroups)].some(
    (digits) => /^[2-6]/.test(digits) && isCardNumber(digits),
  );
}

const uuid = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi;

/** `1234 5678 90` → every row of groups that stand beside each other, joined: a number may have others around it. */
function neighbouringGroups(row: string): string[] {
  const groups = row.split(/[ -]/);
  return groups.flatMap((_, first) =>
    groups.slice(first).map((_, length) => groups.slice(first, first + length + 1).join('')),
  );
}

function isCardNumber(text: string): boolean {
  return /^\d{13,19}$/.test(text) && luhnSum(text) % 10 === 0;
}

function luhnSum(digits: string): number {
  let sum = 0;
  for (let place = 0; place < digits.length; place++) {
    const digit = digits.charCodeAt(digits.length - 1 - place) - 0x30;
    const doubled = place % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum;
}
