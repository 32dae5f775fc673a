import { requesterFor } from '../../access/permission.ts';
import { success } from '../../envelope.ts';
import type { SignIn } from '../../sign-in/sign-in.ts';
import { errorResponses, noQuery, responseSchema } from '../response/schemas.ts';
import { sendEnvelope } from '../response/send.ts';
import type { Routes } from '../server/routes.ts';
import { approvalBody, described } from './integration-schemas.ts';
import { shown } from './integrations.ts';
import { integrationParams } from './provider-param.ts';

const tags = ['Sign-in'];

/** Which integrations administrators may sign in to the console with: approve one, withdraw the approval. */
export function integrationApprovalRoutes(signIn: SignIn): Routes {
  const { prefix } = signIn;
  const path = `${prefix}/v3/service/auth/:identity_provider/:INTEGRATION_NAME/approval`;
  return (app) => {
    app.put(
      path,
      {
        config: { access: 'admin' },
        schema: {
          tags,
          operationId: 'approveIntegration',
          summary: 'Approve an integration for the console',
          description:
            'Administrators who are bound to it can sign in to the console. The body names the client that you have checked; another ' +
            'one is 412. The approval ends when the integration is removed, gets another issuer, or gets another client from a ' +
            'key without the scope `admin`.',
          params: integrationParams,
          querystring: noQuery,
          body: approvalBody,
          response: {
            200: responseSchema(described, 'The integration, without its secret'),
            ...errorResponses(),
          },
        },
      },
      async (request, reply) => {
        const { identity_provider: provider, INTEGRATION_NAME: name } = request.params;
        const { client_id: clientId, issuer } = request.body;
        const requester = requesterFor(request.caller, request.id);
        const approved = await signIn.approve({ provider, name }, { clientId, issuer }, requester);
        return sendEnvelope(reply, success(shown(signIn, approved)));
      },
    );

    app.delete(
      path,
      {
        config: { access: 'admin' },
        schema: {
          tags,
          operationId: 'withdrawIntegrationApproval',
          summary: 'Withdraw the approval of an integration for the console',
          description:
            'The sessions of the console that depend on it end, and do not come back with another approval.',
          params: integrationParams,
          querystring: noQuery,
          response: {
            200: responseSchema(described, 'The integration, without its secret'),
            ...errorResponses(),
          },
        },
      },
      async (request, reply) => {
        const { identity_provider: provider, INTEGRATION_NAME: name } = request.params;
        const requester = requesterFor(request.caller, request.id);
        const withdrawn = await signIn.withdrawApproval({ provider, name }, requester);
        return sendEnvelope(reply, success(shown(signIn, withdrawn)));
      },
    );
  };
}
