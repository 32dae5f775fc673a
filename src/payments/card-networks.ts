/**
 * A range compares as many digits as its bounds have: `['2221', '2720']` contains every number that begins with 2221 to
 * 2720.
 */
export type Prefix = string | readonly [from: string, to: string];

export interface CardNetwork {
  readonly name: string;
  readonly prefixes: readonly Prefix[];
  /** Possible numbers of digits for these prefixes. */
  readonly lengths: readonly number[];
}

/*
 * The issuer prefixes and number lengths in use, from two public lists unless a network names another source:
 * - https://en.wikipedia.org/wiki/Payment_card_number (July 2024)
 * - https://github.com/braintree/credit-card-type (src/lib/card-types.ts, June 2026)
 * A network that shares prefixes with another (Elo within Visa's 4, Troy within Discover's 65) lists only the others.
 */
export const cardNetworks: readonly CardNetwork[] = [
  // 13 and 19 are Wikipedia's, 18 is credit-card-type's. PayPal's Payflow has a test number of 13 digits
  // (https://www.paypalobjects.com/en_US/vhelp/paypalmanager_help/credit_card_numbers.htm), Adyen one of 19.
  { name: 'Visa', prefixes: ['4'], lengths: [13, 16, 18, 19] },
  {
    name: 'Mastercard',
    prefixes: [
      ['51', '55'],
      ['2221', '2720'],
    ],
    lengths: [16],
  },
  { name: 'American Express', prefixes: ['34', '37'], lengths: [15] },
  // 622126–622925 is within UnionPay's 62.
  { name: 'Discover', prefixes: ['6011', ['644', '649'], '65'], lengths: [16, 17, 18, 19] },
  // 14 digits is the international card. Stripe has a test number of 16 (https://docs.stripe.com/testing).
  {
    name: 'Diners Club',
    prefixes: [['300', '305'], '3095', '36', '38', '39'],
    lengths: [14, 16, 17, 18, 19],
  },
  // The ranges other than 3528–3589: https://github.com/activemerchant/active_merchant, credit_card_methods.rb.
  {
    name: 'JCB',
    prefixes: [
      ['3528', '3589'],
      ['3088', '3094'],
      ['3096', '3102'],
      ['3112', '3120'],
      ['3158', '3159'],
      ['3337', '3349'],
    ],
    lengths: [16, 17, 18, 19],
  },
  // Old JCB cards (credit-card-type).
  { name: 'JCB', prefixes: ['1800', '2131'], lengths: [15] },
  // Lengths: Wikipedia has 16–19 and credit-card-type 14–19; https://docs.stripe.com says 13–19. 13 is left out:
  // no test number has it, and 620 to 629 begin product codes (GS1) of 13 digits, for instance Egypt's and Iran's.
  { name: 'UnionPay', prefixes: ['62', ['810', '817']], lengths: [14, 15, 16, 17, 18, 19] },
  // Opayo's test numbers have 13 digits (67), Cybersource's 14 to 19. Maestro's 12 are below our minimum.
  { name: 'Maestro', prefixes: ['67'], lengths: [13, 14, 15, 16, 17, 18, 19] },
  { name: 'Maestro', prefixes: ['6304', '6390'], lengths: [14, 15, 16, 17, 18, 19] },
  // Maestro of single countries, roughly: the first four digits of the ranges in Mastercard's rules (as listed in
  // https://github.com/activemerchant/active_merchant, credit_card_methods.rb), with their neighbours.
  // 13 digits are left out: product codes of the United Kingdom (50), Denmark (57) and Poland (590) have them.
  {
    name: 'Maestro by country',
    prefixes: [
      ['5000', '5001'],
      ['5010', '5011'],
      ['5015', '5016'],
      '5018',
      ['5020', '5021'],
      '5023',
      ['5031', '5038'],
      ['5043', '5049'],
      '5070',
      ['5600', '5613'],
      '5641',
      ['5724', '5726'],
      '5769',
      '5786',
      ['5811', '5818'],
      ['5852', '5899'],
      '59',
      ['6002', '6003'],
      '6010',
      ['6012', '6016'],
      ['6020', '6026'],
      ['6033', '6036'],
      '6049',
      '6061',
      '6331',
      ['6333', '6334'],
      ['6361', '6366'],
      ['6370', '6377'],
    ],
    lengths: [14, 16, 18, 19],
  },
  // https://developer.mastercard.com/mastercard-send/documentation/implementation/sandbox-test-cards/
  { name: 'STAR, NYCE, Pulse', prefixes: ['5008', '5015', '6029'], lengths: [16] },
  // https://docs.adyen.com/development-resources/test-cards-and-credentials/test-card-numbers (and 4571: Visa)
  { name: 'Dankort', prefixes: ['5019'], lengths: [16] },
  // Carnet, Mexico (active_merchant); it includes PayPal's test "Maestro" 506351.
  { name: 'Carnet', prefixes: [['506199', '506499']], lengths: [16] },
  { name: 'Mir', prefixes: [['2200', '2204']], lengths: [16, 17, 18, 19] },
  // Wikipedia: 508, 60, 65, 81, 82, and 353 and 356 with JCB. Of 60 only the part with known numbers: 6074 and 6082 in
  // the test cards of https://docs.payu.in/reference/test-cards-upi-id-and-wallets and https://cashfree.com.
  { name: 'RuPay', prefixes: ['508', ['6069', '6085'], '81', '82'], lengths: [16] },
  // https://dev.elo.com.br/apis/tabela-de-bins; the rest begins with 4 (Visa) and 65 (Discover).
  {
    name: 'Elo',
    prefixes: [
      '504175',
      ['506699', '506778'],
      ['509000', '509999'],
      '627780',
      ['636297', '636298'],
      '636368',
    ],
    lengths: [16],
  },
  {
    name: 'Hiper and Hipercard',
    prefixes: ['606282', '637095', '63737423', '63743358', '637568', '637599', '637609', '637612'],
    lengths: [16],
  },
  // https://doc.paynet.com.tr/genel-bilgiler/test-kartlari; its 65 is Discover's.
  { name: 'Troy', prefixes: ['9792'], lengths: [16] },
  // 650002–650027 is within Discover's 65, at the same lengths.
  {
    name: 'Verve',
    prefixes: [
      ['506099', '506198'],
      ['507865', '507964'],
    ],
    lengths: [16, 18, 19],
  },
  // Wikipedia; the digits after 1 are the airline's. https://uatp.com names no ranges.
  { name: 'UATP', prefixes: ['1'], lengths: [15] },
];
