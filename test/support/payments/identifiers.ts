import { between, pick, type Random } from '../random.ts';

/** Makes a text that a caller could send as an idempotency key or a metadata value. */
export type Identifier = (random: Random) => string;

/** A millisecond of the years 2015 to 2035, alone and within longer keys. */
export const timestamp: Identifier = (random) => {
  const milliseconds = between(random, Date.UTC(2015, 0, 1), Date.UTC(2036, 0, 1) - 1);
  return pick(random, [
    `${milliseconds}`,
    `order-${milliseconds}`,
    `${milliseconds}-charge`,
    `${milliseconds}-${between(random, 0, 9999)}`,
    `${between(random, 1, 99999)}-${milliseconds}`,
  ]);
};

/**
 * GS1 prefixes (https://www.gs1.org/standards/id-keys/company-prefix) and the share of products that carry each. The
 * shares are an estimate from the sizes of the markets: GS1 publishes none.
 */
const gs1Prefixes: readonly (readonly [from: number, to: number, percent: number])[] = [
  [0, 139, 24], // United States, Canada
  [200, 299, 3], // within a shop
  [300, 379, 7], // France
  [380, 389, 1], // Bulgaria, Slovenia, Croatia, Bosnia
  [400, 440, 11], // Germany
  [450, 459, 4], // Japan
  [460, 469, 3], // Russia
  [470, 489, 2], // Taiwan, the Baltic, Central Asia, Hong Kong
  [490, 499, 3], // Japan
  [500, 509, 5], // United Kingdom
  [520, 549, 2], // Greece, Cyprus, Ireland, Belgium
  [560, 579, 2], // Portugal, Iceland, Denmark
  [590, 590, 2], // Poland
  [594, 609, 1], // Romania, Hungary, South Africa
  [611, 630, 1], // North and East Africa, the Gulf
  [640, 649, 1], // Finland
  [690, 699, 9], // China
  [700, 739, 2], // Norway, Israel, Sweden
  [740, 790, 3], // Latin America, Switzerland, Brazil
  [800, 839, 4], // Italy
  [840, 859, 3], // Spain, Cuba, Slovakia, Czechia
  [860, 889, 3], // Turkey, Netherlands, Korea, Thailand
  [890, 899, 2], // India, Vietnam, Indonesia
  [900, 949, 2], // Austria, Australia, New Zealand
];

/** An EAN-13 with its check digit, alone, in a longer key, and as it is printed under a barcode. */
export const ean: Identifier = (random) => {
  const payload = `${prefixOf(random)}`.padStart(3, '0') + digits(random, 9);
  const code = payload + eanCheckDigit(payload);
  const printed = `${code[0]} ${code.slice(1, 7)} ${code.slice(7)}`;
  return pick(random, [code, code, `ean-${code}`, `${code}-${between(random, 1, 99)}`, printed]);
};

function prefixOf(random: Random): number {
  const shares = gs1Prefixes.reduce((sum, [, , percent]) => sum + percent, 0);
  let left = random() * shares;
  for (const [from, to, percent] of gs1Prefixes) {
    left -= percent;
    if (left < 0) return between(random, from, to);
  }
  throw new RangeError('The shares do not add up.');
}

/** GS1 General Specifications, 7.9.1: the weights alternate between 1 and 3. */
function eanCheckDigit(payload: string): string {
  let sum = 0;
  for (let place = 0; place < payload.length; place++) {
    sum += Number(payload[place]) * (place % 2 === 0 ? 1 : 3);
  }
  return String((10 - (sum % 10)) % 10);
}

/** Versions 4 and 7 (RFC 9562), alone and in a longer key. */
export const uuid: Identifier = (random) => {
  const milliseconds = between(random, Date.UTC(2015, 0, 1), Date.UTC(2036, 0, 1) - 1);
  const time = milliseconds.toString(16).padStart(12, '0');
  const [start, version] = random() < 0.5 ? [hex(random, 12), '4'] : [time, '7'];
  const variant = pick(random, ['8', '9', 'a', 'b']);
  const text = `${start.slice(0, 8)}-${start.slice(8)}-${version}${hex(random, 3)}-${variant}${hex(random, 3)}-${hex(random, 12)}`;
  return pick(random, [text, text.toUpperCase(), `charge-${text}`, `${text}-${between(random, 1, 9)}`]);
};

/** https://github.com/ulid/spec: 10 characters of time and 16 random ones in Crockford's base 32. */
export const ulid: Identifier = (random) => {
  let time = between(random, Date.UTC(2015, 0, 1), Date.UTC(2036, 0, 1) - 1);
  let text = '';
  for (let place = 0; place < 10; place++) {
    text = crockford[time % 32] + text;
    time = Math.floor(time / 32);
  }
  return text + characters(random, crockford, 16);
};

export const orderNumber: Identifier = (random) => {
  const year = between(random, 2015, 2035);
  const month = String(between(random, 1, 12)).padStart(2, '0');
  return pick(random, [
    `ORD-${year}-${digits(random, 10)}`,
    `ORD-${year}-${String(between(random, 1, 9_999_999)).padStart(10, '0')}`,
    `INV-${year}-${month}-${digits(random, 6)}`,
    `${year}${month}${digits(random, 8)}`,
    `${digits(random, 3)}-${digits(random, 7)}-${digits(random, 7)}`, // as Amazon's are
    `#${between(random, 1000, 999_999)}`,
  ]);
};

/** Identifiers of Twitter and Discord: milliseconds since their epochs, shifted left by 22 bits. */
export const snowflake: Identifier = (random) => {
  const epoch = pick(random, [1_288_834_974_657, 1_420_070_400_000]);
  const milliseconds = between(random, Date.UTC(2015, 1, 1), Date.UTC(2036, 0, 1) - 1) - epoch;
  return String((BigInt(milliseconds) << 22n) | BigInt(between(random, 0, 2 ** 22 - 1)));
};

/** E.164 numbers of large countries, in the usual notations. */
export const phoneNumber: Identifier = (random) => {
  const [country, national] = pick(random, [
    ['1', 10],
    ['33', 9],
    ['34', 9],
    ['39', 10],
    ['43', 11],
    ['44', 10],
    ['49', 11],
    ['52', 10],
    ['55', 11],
    ['62', 11],
    ['81', 10],
    ['86', 11],
    ['91', 10],
    ['234', 10],
    ['353', 9],
    ['420', 9],
    ['880', 10],
  ] as const);
  const rest = between(random, 1, 9) + digits(random, national - 1);
  return pick(random, [
    `+${country}${rest}`,
    `00${country}${rest}`,
    `+${country} ${rest.slice(0, 3)} ${rest.slice(3)}`,
    `+${country}-${rest.slice(0, 3)}-${rest.slice(3, 6)}-${rest.slice(6)}`,
    `+${country} ${rest.slice(0, 4)} ${rest.slice(4, 8)} ${rest.slice(8)}`,
  ]);
};

const crockford = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

function digits(random: Random, length: number): string {
  return characters(random, '0123456789', length);
}

function hex(random: Random, length: number): string {
  return characters(random, '0123456789abcdef', length);
}

function characters(random: Random, alphabet: string, length: number): string {
  let text = '';
  for (let place = 0; place < length; place++) text += alphabet[Math.floor(random() * alphabet.length)];
  return text;
}
