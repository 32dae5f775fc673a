import type { Payment, RefundResult } from '@counterfoil/client';
import { useRef, useState } from 'preact/hooks';
import { decimalsOf, parsed, plain, written } from '../money.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Problem } from '../parts/problem.tsx';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';

interface RefundDialogProps {
  readonly payment: Payment;
  readonly route: string;
  readonly changed: () => void;
  readonly close: () => void;
}

type Step =
  | { readonly at: 'amount' }
  | { readonly at: 'confirm' | 'sending'; readonly amount: number }
  | { readonly at: 'done'; readonly amount: number; readonly result: RefundResult }
  | { readonly at: 'failed'; readonly error: unknown };

/** Refunds a payment or a part of it: the amount, then a confirmation. One dialog refunds at most once. */
export default function RefundDialog({ payment, route, changed, close }: RefundDialogProps) {
  const { client, session } = useConnection();
  const [step, setStep] = useState<Step>({ at: 'amount' });
  const idempotencyKey = useRef(crypto.randomUUID());
  const { id: paymentId, processor, currency } = payment;
  const decimals = decimalsOf(session, currency);
  const send = async (amount: number) => {
    setStep({ at: 'sending', amount });
    const isMajor = session.payments?.routes[route]?.unit === 'major';
    try {
      const result = await client.refund({
        processor,
        route,
        paymentId,
        amount: isMajor ? Number(plain(amount, decimals)) : amount,
        idempotencyKey: idempotencyKey.current,
      });
      setStep({ at: 'done', amount, result });
    } catch (error) {
      setStep({ at: 'failed', error });
    }
    changed();
  };
  return (
    <Dialog title={texts.refund.title} close={close}>
      {step.at === 'amount' && (
        <AmountForm
          payment={payment}
          decimals={decimals}
          chosen={(amount) => setStep({ at: 'confirm', amount })}
          close={close}
        />
      )}
      {step.at === 'confirm' && (
        <>
          <p>{texts.refund.sure(written(session, step.amount, currency))}</p>
          <div class="actions">
            <button type="button" onClick={close}>
              {texts.refund.cancel}
            </button>
            <button
              type="button"
              class="danger"
              ref={(button) => button?.focus()}
              onClick={() => void send(step.amount)}
            >
              {texts.refund.confirm(written(session, step.amount, currency))}
            </button>
          </div>
        </>
      )}
      {step.at === 'sending' && <p role="status">{texts.refund.sending}</p>}
      {step.at === 'done' && (
        <p role="status">{textOf(step.result, written(session, step.amount, currency))}</p>
      )}
      {step.at === 'failed' && <Problem error={step.error} />}
      {(step.at === 'done' || step.at === 'failed') && (
        <button type="button" onClick={close} ref={(button) => button?.focus()}>
          {texts.item.close}
        </button>
      )}
    </Dialog>
  );
}

function AmountForm({
  payment,
  decimals,
  chosen,
  close,
}: {
  readonly payment: Payment;
  readonly decimals: number;
  readonly chosen: (amount: number) => void;
  readonly close: () => void;
}) {
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

function textOf(result: RefundResult, amount: string): string {
  if (result.status === 'unknown') return texts.refund.unknown;
  return result.status === 'failed' ? texts.refund.failed : texts.refund.done(amount);
}
