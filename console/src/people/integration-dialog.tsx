import { useQuery } from '@tanstack/react-query';
import { Dialog } from '../parts/dialog.tsx';
import { Problem } from '../parts/problem.tsx';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';
import { type Integration, labelOf, pathOf } from './integration.ts';
import { IntegrationForm } from './integration-form.tsx';

interface IntegrationDialogProps {
  /** Undefined to add one. */
  readonly integration: Integration | undefined;
  readonly close: () => void;
  readonly changed: () => void;
}

/** Adds an integration, or edits one. */
export default function IntegrationDialog({ integration, close, changed }: IntegrationDialogProps) {
  const { addIntegration, editIntegration } = texts.people;
  const title = integration === undefined ? addIntegration : editIntegration(labelOf(integration));
  return (
    <Dialog title={title} close={close}>
      {integration === undefined ? (
        <IntegrationForm current={undefined} close={close} saved={changed} />
      ) : (
        <Existing integration={integration} close={close} changed={changed} />
      )}
    </Dialog>
  );
}

/**
 * Reads the integration again, because the form replaces the whole registration and must not restore stale values from
 * the list.
 */
function Existing({
  integration,
  close,
  changed,
}: IntegrationDialogProps & { readonly integration: Integration }) {
  const { calls } = useConnection();
  const { data, error } = useQuery({
    queryKey: ['integration', labelOf(integration)],
    queryFn: () => calls.send<Integration>('GET', pathOf(integration)),
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  if (error !== null) return <Problem error={error} />;
  if (data === undefined) return <p>{texts.loading}</p>;
  return <IntegrationForm current={data} close={close} saved={changed} />;
}
