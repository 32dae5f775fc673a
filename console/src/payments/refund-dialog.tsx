import type { Payment, RefundResult } from '@counterfoil/client';
import { useEffect, useRef, useState } from 'preact/hooks';
import { decimalsOf, plain, written } from '../money.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Problem } from '../parts/problem.tsx';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';
import { AmountForm } from './amount-form.tsx';
import { attemptOf, beginAttempt, endAttempt } from './refund-attempts.ts';

interface RefundDialogProps {
  readonly payment: Payment;
  readonly route: string;
  readonly changed: () => void;
  readonly close: () => void;
}

type Step =
  | { readonly at: 'amount' }
  | { readonly at: 'confirm' | 'again' | 'sending'; readonly amount: number }
  | { readonly at: 'done'; readonly amount: number; readonly result: RefundResult }
  | { readonly at: 'failed'; readonly error: unknown };

/**
 * Refunds a payment or a part of it: first the amount, then a confirmation. One dialog refunds at most once, and cannot
 * be closed meanwhile. If the outcome of a refund is unknown, it must be repeated unchanged before another refund is
 * possible.
 */
export default function RefundDialog({ payment, route, changed, close }: RefundDialogProps) {
  const { client, session } = useConnection();
  const { id: paymentId, processor, currency } = payment;
  const [step, setStep] = useState<Step>(() => {
    const unknown = attemptOf(paymentId);
    return unknown === undefined ? { at: 'amount' } : { at: 'again', amount: unknown.amount };
  });
  const decimals = decimalsOf(session, currency);
  const send = async (chosen: number) => {
    const isRepeated = attemptOf(paymentId) !== undefined;
    const { amount, idempotencyKey } = beginAttempt(paymentId, chosen);
    setStep({ at: 'sending', amount });
    const isMajor = session.payments?.routes[route]?.unit === 'major';
    try {
      const result = await client.refund({
        processor,
        route,
        paymentId,
        amount: isMajor ? Number(plain(amount, decimals)) : amount,
        idempotencyKey,
      });
      if (result.status !== 'unknown') endAttempt(paymentId);
      setStep({ at: 'done', amount, result });
    } catch (error) {
      // The client throws only if this call has moved no money. An earlier call with this key may have moved it.
      if (!isRepeated) endAttempt(paymentId);
      setStep({ at: 'failed', error });
    }
    changed();
  };
  return (
    <Dialog title={texts.refund.title} close={close} isHeld={step.at === 'sending'}>
      {step.at === 'amount' && (
        <AmountForm
          payment={payment}
          decimals={decimals}
          chosen={(amount) => setStep({ at: 'confirm', amount })}
          close={close}
        />
      )}
      {(step.at === 'confirm' || step.at === 'again') && (
        <Confirmation
          amount={written(session, step.amount, currency)}
          isAgain={step.at === 'again'}
          confirm={() => void send(step.amount)}
          close={close}
        />
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

/** Asks for a confirmation before money moves. A held key or a double click that began earlier does not confirm it. */
function Confirmation({
  amount,
  isAgain,
  confirm,
  close,
}: {
  readonly amount: string;
  readonly isAgain: boolean;
  readonly confirm: () => void;
  readonly close: () => void;
}) {
  const cancel = useRef<HTMLButtonElement>(null);
  useEffect(() => cancel.current?.focus(), []);
  const { unknownBefore, sure, repeat, confirm: refund } = texts.refund;
  return (
    <>
      <p>{isAgain ? unknownBefore(amount) : sure(amount)}</p>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: only keeps its buttons from what did not begin on them */}
      <div
        class="actions"
        onKeyDown={(event) => event.repeat && event.key !== 'Tab' && event.preventDefault()}
      >
        <button type="button" ref={cancel} onClick={close}>
          {texts.refund.cancel}
        </button>
        {/* `detail` counts the clicks in a row at one place. */}
        <button type="button" class="danger" onClick={({ detail }) => detail <= 1 && confirm()}>
          {isAgain ? repeat(amount) : refund(amount)}
        </button>
      </div>
    </>
  );
}

function textOf(result: RefundResult, amount: string): string {
  if (result.status === 'unknown') return texts.refund.unknown;
  return result.status === 'failed' ? texts.refund.failed : texts.refund.done(amount);
}
