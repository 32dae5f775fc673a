/** The card form of the simulated processor: each test card is a token that decides what happens. */
export const processor = 'simulated';

const cards = {
  tok_paid: 'Card that is charged',
  tok_insufficient_funds: 'Card without funds',
  tok_requires_action: 'Card whose bank asks for confirmation',
};

/** Shows the form in an element, and returns a function that makes the token of the card. */
export function showCardForm(place) {
  for (const [token, text] of Object.entries(cards)) {
    const label = document.createElement('label');
    const input = Object.assign(document.createElement('input'), {
      type: 'radio',
      name: 'card',
      value: token,
      checked: token === 'tok_paid',
    });
    label.append(input, ` ${text}`);
    place.append(label);
  }
  return async () => place.querySelector(':checked').value;
}
