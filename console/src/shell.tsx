import { Link, Outlet } from '@tanstack/react-router';
import { lazy, Suspense } from 'preact/compat';
import { useState } from 'preact/hooks';
import { may, type Session } from './service.ts';
import { useConnection } from './session.tsx';
import { useShortcuts } from './shortcuts.ts';
import { texts } from './texts.ts';
import { ThemeChoice } from './theme.tsx';

const KeyList = lazy(() => import('./key-list.tsx'));

/** The frame around every view. It offers what the holder of the session may do. */
export function Shell() {
  const { session, leave } = useConnection();
  const [showsKeys, setShowsKeys] = useState(false);
  useShortcuts(() => setShowsKeys(true));
  return (
    <>
      <a class="skip" href="#content">
        {texts.skip}
      </a>
      <header>
        <strong>{texts.name}</strong>
        <nav aria-label={texts.name}>
          {may(session, 'payments:read') && (
            <>
              <Link to="/payments" search={{}}>
                {texts.views.payments}
              </Link>
              <Link to="/review">{texts.views.review}</Link>
            </>
          )}
          {may(session, 'admin') && (
            <Link to="/reconciliation" search={{}}>
              {texts.views.reconciliation}
            </Link>
          )}
          {may(session, 'tables:read') && <Link to="/tables">{texts.views.tables}</Link>}
          {(may(session, 'users:read') || may(session, 'integrations:read')) && (
            <Link to="/people" search={{}}>
              {texts.views.people}
            </Link>
          )}
          {may(session, 'keys:read') && <Link to="/keys">{texts.views.keys}</Link>}
          <Link to="/operations">{texts.views.operations}</Link>
          {may(session, 'admin') && (
            <>
              <Link to="/backups">{texts.views.backups}</Link>
              <Link to="/audit">{texts.views.audit}</Link>
            </>
          )}
        </nav>
        <span class="who">{whoOf(session)}</span>
        <button type="button" aria-label={texts.keys.open} onClick={() => setShowsKeys(true)}>
          ?
        </button>
        <ThemeChoice />
        {session.mode !== 'open' && (
          <button type="button" onClick={leave}>
            {texts.signIn.signOut}
          </button>
        )}
      </header>
      <main id="content" tabIndex={-1}>
        <Outlet />
      </main>
      {showsKeys && (
        <Suspense fallback={null}>
          <KeyList close={() => setShowsKeys(false)} />
        </Suspense>
      )}
    </>
  );
}

function whoOf({ key, administrator }: Session): string {
  if (administrator !== null) return texts.signIn.asPerson(administrator.name ?? administrator.subject);
  return key === null ? texts.signIn.open : texts.signIn.as(key.name);
}
