/**
 * Whether a text is, or holds, what looks like a card number: 13–19 digits, also in groups parted by spaces or
 * hyphens, with a valid Luhn check digit (ISO/IEC 7812-1). Within a longer text the digits must also begin as the
 * card networks' do (2–6), or one in ten time stamps in milliseconds would be taken for a card.
 */
export function holdsCardNumber(text: string): boolean {
  if (isCardNumber(withoutSeparators(text))) return true;
  const runs = text.match(/(?<!\d)[2-6](?:[ -]?\d){12,18}(?!\d)/g) ?? [];
  return runs.some((run) => isCardNumber(withoutSeparators(run)));
}

function withoutSeparators(text: string): string {
  return text.replace(/[ -]/g, '');
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
