/** The table `seats`: the name of an item is the price of that seat, in cents. */
export const seats = [
  { id: 'A1', name: '4000' },
  { id: 'A2', name: '4000' },
  { id: 'A3', name: '4000' },
  { id: 'A4', name: '4000' },
  { id: 'B1', name: '2500' },
  { id: 'B2', name: '2500' },
  { id: 'B3', name: '2500' },
  { id: 'B4', name: '2500' },
];
