/**
 * The card form of Stripe, in place of simulated.js. The number of the card goes from Stripe's frame to Stripe alone.
 *
 * To switch:
 * 1. In shop.js, import this file instead of simulated.js, and write your publishable key of Stripe below.
 * 2. In index.html, before shop.js: <script src="https://js.stripe.com/v3/"></script>. In the Content-Security-Policy:
 *    script-src 'self' https://js.stripe.com; frame-src https://js.stripe.com https://hooks.stripe.com; to connect-src
 *    add https://api.stripe.com. Stripe's form sets styles of its own: style-src 'self' 'unsafe-inline'.
 * 3. Serve with COUNTERFOIL_STRIPE_KEY and without --simulate; make the publishable key for --route stripe/ticket.
 */
export const processor = 'stripe';

const publishableKeyOfStripe = 'pk_test_…';

/** Shows the form in an element, and returns a function that makes a payment method of the card, or throws. */
export function showCardForm(place) {
  const stripe = globalThis.Stripe(publishableKeyOfStripe);
  const card = stripe.elements().create('card');
  card.mount(place);
  return async () => {
    const { paymentMethod, error } = await stripe.createPaymentMethod({ type: 'card', card });
    if (error) throw new Error(error.message);
    return paymentMethod.id;
  };
}
