import { Type } from 'typebox';
import {
  amountMax,
  descriptionCharactersMax,
  emailDomainCharactersMax,
  emailLocalPartCharactersMax,
  metadataKeysMax,
  statementDescriptorSuffixCharactersMax,
  tokenCharactersMax,
} from '../../payments/limits.ts';
import { documentedAs, named } from '../response/described.ts';
import { closed } from '../response/schemas.ts';

/** The schemas of a charge request. */

export const body = named(
  'PaymentRequest',
  Type.Object(
    {
      amount: documentedAs(
        Type.Number({
          description:
            `In the smallest unit of the currency, 1 to ${amountMax}: 1050 is EUR 10.50 or JPY 1050. ` +
            'A route with the unit major takes 10.50',
        }),
        { type: 'number', exclusiveMinimum: 0, maximum: amountMax },
      ),
      currency: documentedAs(Type.String({ description: 'ISO 4217 code, upper or lower case' }), {
        type: 'string',
        pattern: '^[A-Za-z]{3}$',
      }),
      token: documentedAs(
        Type.String({
          minLength: 1,
          description: `Card token of the processor, at most ${tokenCharactersMax} visible ASCII characters`,
        }),
        { type: 'string', minLength: 1, maxLength: tokenCharactersMax },
      ),
      return_url: Type.Optional(
        Type.String({
          description:
            'Where the cardholder returns after authenticating at their bank. Without it, a card whose bank requires that is ' +
            'declined. On an origin of the publishable key, or of `return_urls` of the payment route',
          examples: ['https://shop.example/paid'],
        }),
      ),
      metadata: Type.Optional(
        Type.Record(Type.String(), Type.String(), {
          description: `Your data about the payment, at most ${metadataKeysMax} keys. Stripe receives it with the charge`,
        }),
      ),
      description: documentedAs(
        Type.Optional(
          Type.String({ description: 'What the payment is for; the processor shows it on its dashboard' }),
        ),
        { type: 'string', minLength: 1, maxLength: descriptionCharactersMax },
      ),
      statement_descriptor_suffix: documentedAs(
        Type.Optional(
          Type.String({
            description:
              'What follows the name of the shop on the statement of the card: printable ASCII characters with at least one ' +
              'letter, without < > \\ \' " *',
          }),
        ),
        { type: 'string', minLength: 1, maxLength: statementDescriptorSuffixCharactersMax },
      ),
      receipt_email: documentedAs(
        Type.Optional(
          Type.String({
            description:
              'The processor sends its receipt to this address; the service erases it when the charge ends',
          }),
        ),
        {
          type: 'string',
          format: 'email',
          maxLength: emailLocalPartCharactersMax + 1 + emailDomainCharactersMax,
        },
      ),
    },
    { ...closed, examples: [{ amount: 1050, currency: 'EUR', token: 'tok_paid' }] },
  ),
);
export const headers = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      description: 'Requests with the same key and body are charged once and get the same response',
    }),
  ),
});
