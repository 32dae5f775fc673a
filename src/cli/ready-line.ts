/** The only line on standard output: the service is ready at this address. */
export function readyLine(
  {
    origin,
    paymentOrigin,
    isOpen,
  }: { readonly origin: string; readonly paymentOrigin: string; readonly isOpen: boolean },
  { simulate, count }: { readonly simulate: boolean; readonly count: number },
): string {
  const payments = paymentOrigin === origin ? '' : `, payments on ${paymentOrigin}`;
  const workers = count === 1 ? '' : `, ${count} workers`;
  const simulated = simulate ? ', with a simulated processor that moves no money' : '';
  // A proxy is such a program, and not every one can be recognized.
  const open = isOpen
    ? ', open without an API key to all programs on this machine, a proxy included'
    : ', requests need an API key';
  return `Counterfoil is ready on ${origin}${payments}${workers}${simulated}${open}\n`;
}
