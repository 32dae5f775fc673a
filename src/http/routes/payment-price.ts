import { Type } from 'typebox';
import { success } from '../../envelope.ts';
import type { Payments } from '../../payments/payments.ts';
import type { Price } from '../../payments/types.ts';
import { documentedAs, named } from '../response/described.ts';
import { closed, errorResponses, responseSchema } from '../response/schemas.ts';
import { sendEnvelope } from '../response/send.ts';
import type { Routes } from '../server/routes.ts';
import { currency, params, smallestUnit } from './payment-schemas.ts';

/** The parameters depend on the route: the OpenAPI document shows them as one object, whose keys are the parameters. */
const query = documentedAs(
  Type.Record(Type.String(), Type.String()),
  Type.Object({
    metadata: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description:
          'The metadata that the price depends on, each key as a parameter of its own: `?sku=poster&quantity=2`',
      }),
    ),
  }),
);

const priceState = named(
  'Price',
  Type.Object(
    {
      amount: Type.Integer({ description: `What is charged. ${smallestUnit}` }),
      currency,
      unit_amount: Type.Optional(
        Type.Integer({ description: 'The price of one piece, on a route with a quantity' }),
      ),
      quantity: Type.Optional(Type.Integer({ description: 'On a route with a quantity' })),
    },
    { ...closed, examples: [{ amount: 2100, currency: 'EUR', unit_amount: 1050, quantity: 2 }] },
  ),
);

/**
 * The price that a payment has now, for the page that shows it. A publishable key may read it too.
 *
 * List it before the other payment routes: `/:payment_id` has the same shape.
 *
 * @param prefix in front of `/stage`
 */
export function paymentPriceRoutes(payments: Payments, prefix: string): Routes {
  return (app) => {
    app.get(
      `${prefix}/stage/payment/:processor/:route_id/price`,
      {
        config: { access: 'payments:create' },
        schema: {
          tags: ['Payments'],
          operationId: 'getPrice',
          summary: 'Read the price of a payment',
          params,
          querystring: query,
          response: { 200: responseSchema(priceState, 'The price now'), ...errorResponses() },
        },
      },
      async (request, reply) => {
        const { processor, route_id: route } = request.params;
        const price = await payments.price({ processor, route, metadata: request.query });
        return sendEnvelope(reply, success(publicPrice(price)));
      },
    );
  };
}

function publicPrice({ amount, currency, source }: Price) {
  if (source.type !== 'table' || source.quantity === undefined) return { amount, currency };
  return { amount, currency, unit_amount: source.unitAmount, quantity: source.quantity };
}
