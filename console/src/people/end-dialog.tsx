import { useState } from 'preact/hooks';
import { Dialog } from '../parts/dialog.tsx';
import { Problem } from '../parts/problem.tsx';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';
import { nameOf, type User } from './person.ts';

/** Ends all sessions of a user, after a confirmation. */
export default function EndDialog({
  user,
  close,
  changed,
}: {
  readonly user: User;
  readonly close: () => void;
  readonly changed: () => void;
}) {
  const { calls } = useConnection();
  const [error, setError] = useState<unknown>();
  const end = async () => {
    try {
      await calls.send('DELETE', `/v3/sessions?${new URLSearchParams({ user: user.id })}`);
      changed();
      close();
    } catch (thrown) {
      setError(thrown);
    }
  };
  return (
    <Dialog title={texts.people.end(nameOf(user))} close={close}>
      <p>{texts.people.sure}</p>
      {error !== undefined && <Problem error={error} />}
      <div class="actions">
        <button type="button" onClick={close}>
          {texts.item.cancel}
        </button>
        <button type="button" class="danger" onClick={() => void end()}>
          {texts.people.confirm}
        </button>
      </div>
    </Dialog>
  );
}
