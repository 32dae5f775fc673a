/** The one line of standard output: the service is ready, and where. */
export function readyLine(
  { origin, paymentOrigin }: { readonly origin: string; readonly paymentOrigin: string },
  { simulate, count }: { readonly simulate: boolean; readonly count: number },
): string {
  const payments = paymentOrigin === origin ? '' : `, payments on ${paymentOrigin}`;
  const workers = count === 1 ? '' : `, ${count} workers`;
  const simulated = simulate ? ', with a simulated processor that moves no money' : '';
  return `Counterfoil is ready on ${origin}${payments}${workers}${simulated}\n`;
}
