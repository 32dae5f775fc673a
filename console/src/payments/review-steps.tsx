import { Command } from '../parts/empty.tsx';
import { texts } from '../texts.ts';

/** The steps for a person to end a payment whose outcome the service could not find out. */
export function ReviewSteps({ id }: { readonly id: string }) {
  const { steps, lookUp, charged, notCharged, resolve } = texts.review;
  return (
    <details class="review" open>
      <summary>{steps}</summary>
      <p>{lookUp}</p>
      <p>{charged}</p>
      <Command text={resolve(id, '--succeeded CHARGE_ID')} />
      <p>{notCharged}</p>
      <Command text={resolve(id, '--declined')} />
    </details>
  );
}
