import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { requesterFor } from '../../access/permission.ts';
import { defined } from '../../defined.ts';
import type { SignIn } from '../../sign-in/sign-in.ts';
import type { Integration } from '../../sign-in/types.ts';
import { pageResponse, sendPage } from '../response/pagination.ts';
import { messageResponse, responseSchema } from '../response/schemas.ts';
import { operation, type Routes, routeFamily } from '../server/operation.ts';
import {
  approvalBody,
  integrationBody as body,
  integrationIn,
  integrationListQuery,
  integrationState,
  integrationParams as params,
  registeredIntegration,
  verifyQuery,
} from './integration-schemas.ts';

/** The registry of sign-in integrations. No response contains a secret. */
export function integrationRoutes(signIn: SignIn): Routes {
  const { prefix } = signIn;
  const all = `${prefix}/v3/service/auth`;
  const one = `${all}/:identity_provider/:INTEGRATION_NAME`;
  const shown = (integration: Integration) => publicIntegration(signIn, integration);
  const sendList = async (reply: FastifyReply, provider: string | undefined, after: string | undefined) => {
    const { integrations, next } = await signIn.integrations(provider, after);
    return sendPage(reply, integrations.map(shown), next);
  };
  return routeFamily('Sign-in', [
    operation(
      'POST',
      `${prefix}/v3/create/service/auth/:identity_provider/:INTEGRATION_NAME`,
      'integrations:write',
      {
        id: 'createIntegration',
        summary: 'Register a sign-in integration',
        request: { params, query: verifyQuery, body },
        response: responseSchema(
          registeredIntegration,
          'The integration is on disk, with its secret encrypted',
        ),
        legacyErrors: {
          name: 'IntegrationErrorResponse',
          schemas: { compelete: Type.Literal(false) },
          fields: () => ({ compelete: false }),
        },
        handle: async (request) => {
          const named = integrationIn(request);
          if (request.query.verify === 'true') await signIn.verify(named, request.body);
          const requester = requesterFor(request.caller, request.id);
          const integration = await signIn.register(named, request.body, requester);
          const { redirectUri, signInUrl } = signIn.addresses(integration);
          return {
            compelete: true,
            complete: true,
            name: integration.name,
            provider: integration.provider,
            client_id: integration.clientId,
            redirect_uri: redirectUri,
            sign_in_url: signInUrl,
            created_at: integration.createdAt,
          };
        },
      },
    ),

    operation('GET', one, 'integrations:read', {
      id: 'getIntegration',
      summary: 'Retrieve an integration',
      request: { params },
      response: withoutSecret,
      handle: async (request) => shown(await signIn.integration(integrationIn(request))),
    }),

    operation('PUT', one, 'integrations:write', {
      id: 'replaceIntegration',
      summary: 'Replace the credentials of an integration',
      request: { params, query: verifyQuery, body },
      response: responseSchema(
        integrationState,
        'The new credentials are on disk, with the secret encrypted',
      ),
      handle: async (request) => {
        const named = integrationIn(request);
        if (request.query.verify === 'true') await signIn.verify(named, request.body);
        const { caller, id } = request;
        const mayApprove = caller.rights?.scopes.includes('admin') ?? false;
        const requester = { ...requesterFor(caller, id), mayApprove };
        return shown(await signIn.replace(named, request.body, requester));
      },
    }),

    operation('DELETE', one, 'integrations:write', {
      id: 'deleteIntegration',
      summary: 'Remove an integration',
      request: { params },
      response: messageResponse(
        'Integration deleted',
        'Nobody can sign in with it any more, and its users are signed out',
      ),
      handle: async (request) => {
        await signIn.remove(integrationIn(request), requesterFor(request.caller, request.id));
        return { message: 'Integration deleted' };
      },
    }),

    operation('GET', all, 'integrations:read', {
      id: 'listIntegrations',
      summary: 'List integrations',
      request: { query: integrationListQuery },
      response: list,
      handle: ({ query }, reply) => sendList(reply, undefined, query.after),
    }),

    operation('GET', `${all}/:identity_provider`, 'integrations:read', {
      id: 'listIntegrationsOfProvider',
      summary: 'List the integrations of a provider',
      request: { params: Type.Pick(params, ['identity_provider']), query: integrationListQuery },
      response: list,
      handle: ({ params, query }, reply) => sendList(reply, params.identity_provider, query.after),
    }),

    operation('PUT', `${one}/approval`, 'admin', {
      id: 'approveIntegration',
      summary: 'Approve an integration for the console',
      description:
        'Administrators who are bound to it can sign in to the console. The body names the client that you have checked; another ' +
        'one is 412. The approval ends when the integration is removed, gets another issuer, or gets another client from a ' +
        'key without the scope `admin`.',
      request: { params, body: approvalBody },
      response: withoutSecret,
      handle: async (request) => {
        const { client_id: clientId, issuer } = request.body;
        const requester = requesterFor(request.caller, request.id);
        return shown(await signIn.approve(integrationIn(request), { clientId, issuer }, requester));
      },
    }),

    operation('DELETE', `${one}/approval`, 'admin', {
      id: 'withdrawIntegrationApproval',
      summary: 'Withdraw the approval of an integration for the console',
      description:
        'The sessions of the console that depend on it end, and do not come back with another approval.',
      request: { params },
      response: withoutSecret,
      handle: async (request) => {
        const requester = requesterFor(request.caller, request.id);
        return shown(await signIn.withdrawApproval(integrationIn(request), requester));
      },
    }),
  ]);
}

const withoutSecret = responseSchema(integrationState, 'The integration, without its secret');
const list = pageResponse(integrationState, 'Ordered by provider and name; `next` if there are more');

function publicIntegration(signIn: SignIn, integration: Integration) {
  const { redirectUri, signInUrl } = signIn.addresses(integration);
  return {
    name: integration.name,
    provider: integration.provider,
    client_id: integration.clientId,
    ...defined({ issuer: integration.issuer }),
    return_urls: integration.returnUrls,
    scopes: integration.scopes,
    redirect_uri: redirectUri,
    sign_in_url: signInUrl,
    created_at: integration.createdAt,
    console_approved_at: integration.consoleApprovedAt ?? null,
  };
}
