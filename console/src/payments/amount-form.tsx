import type { Payment } from '@counterfoil/client';
import { useState } from 'preact/hooks';
import { parsed, plain, written } from '../money.ts';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';

interface AmountFormProps {
  readonly payment: Payment;
  /** The decimal places of the currency. */
  readonly decimals: number;
  /** Called with an amount that can be refunded, in the smallest unit. */
  readonly chosen: (amount: number) => void;
  readonly close: () => void;
}

/** Asks how much of a payment is refunded. The default is everything that is left. */
export function AmountForm({ payment, decimals, chosen, close }: AmountFormProps) {
  const { session } = useConnection();
  const left = payment.amount - payment.amount_refunded;
  const [text, setText] = useState(plain(left, decimals));
  const amount = parsed(text, decimals);
  const isValid = amount !== undefined && amount > 0 && amount <= left;
  const leftText = written(session, left, payment.currency);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (isValid) chosen(amount);
      }}
    >
      <label>
        {texts.refund.amount(payment.currency)}
        <input
          inputMode="decimal"
          autocomplete="off"
          value={text}
          aria-invalid={!isValid}
          aria-describedby="refund-left"
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <p id="refund-left">{isValid ? texts.refund.left(leftText) : texts.refund.tooMuch(leftText)}</p>
      <div class="actions">
        <button type="button" onClick={close}>
          {texts.refund.cancel}
        </button>
        <button type="submit" class="primary" disabled={!isValid}>
          {texts.refund.next}
        </button>
      </div>
    </form>
  );
}
