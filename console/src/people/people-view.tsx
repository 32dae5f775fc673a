import { may } from '../service.ts';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';
import { IntegrationList } from './integration-list.tsx';
import { People } from './people.tsx';

/** The integrations, and the people who have signed in by them. */
export default function PeopleView() {
  const { session } = useConnection();
  return (
    <>
      <h1>{texts.people.title}</h1>
      {may(session, 'integrations:read') && <IntegrationList />}
      {may(session, 'users:read') && <People />}
    </>
  );
}
