import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { writtenAmount } from '../../currencies.ts';
import { ServiceError } from '../../errors.ts';
import type { Challenge, Challenges } from '../../processors/challenges.ts';
import { contentSecurityPolicy, escaped, pageText } from '../response/page.ts';
import { strictObject } from '../response/schemas.ts';
import { sendAs } from '../response/send.ts';
import { operation, type Routes, routeFamily } from '../server/operation.ts';
import { pageHeaders } from '../server/security-headers.ts';

/**
 * The page of the simulated bank, for its 3-D Secure challenge: a person plays the cardholder, and approves, declines, or closes
 * the page. Only the simulated processor has it. Its address is as unguessable as the payment's next action, and moves no money.
 */
export function challengeRoutes(challenges: Challenges, prefix: string): Routes {
  const path = `${prefix}/stage/challenge/:challenge_id`;
  return routeFamily('Payments', [
    operation('GET', path, 'public', {
      request: { params },
      handle: async (request, reply) =>
        sendChallenge(reply, await found(challenges.find(request.params.challenge_id))),
    }),

    operation('POST', path, 'public', {
      request: { params, body: decision, bodyType: 'form' },
      handle: async (request, reply) => {
        const isApproved = request.body.decision === 'approve';
        const challenge = await found(challenges.decide(request.params.challenge_id, isApproved));
        return reply.headers(challengeHeaders(challenge)).redirect(challenge.returnUrl, 303);
      },
    }),
  ]);
}

const params = Type.Object({ challenge_id: Type.String() });
const decision = strictObject({ decision: Type.Union([Type.Literal('approve'), Type.Literal('decline')]) });

async function found(challenge: Promise<Challenge | undefined>): Promise<Challenge> {
  const known = await challenge;
  if (known === undefined) throw new ServiceError('route_not_found');
  return known;
}

function sendChallenge(reply: FastifyReply, challenge: Challenge): FastifyReply {
  const page = challenge.isOpen ? openPage(challenge) : endedPage(challenge);
  return sendAs(reply.headers(challengeHeaders(challenge)), 'text/html; charset=utf-8', pageText(page));
}

/** The form may be sent here, and the redirect of its response may go to the shop: browsers check both. */
function challengeHeaders({ returnUrl }: Challenge): Readonly<Record<string, string>> {
  const target = `form-action 'self' ${new URL(returnUrl).origin}`;
  return {
    ...pageHeaders,
    'cache-control': 'no-store',
    'content-security-policy': contentSecurityPolicy.replace("form-action 'none'", target),
  };
}

function openPage({ amount, currency }: Challenge) {
  const inner =
    `<p>A shop asks for <strong>${escaped(writtenAmount(amount, currency))}</strong>. Do you want to pay?</p>\n` +
    '<form method="post"><button name="decision" value="approve">Approve</button>\n' +
    '<button name="decision" value="decline">Decline</button></form>\n' +
    '<p><small>This is the bank of the simulated processor; no money moves. Close the page to leave the payment open.</small></p>';
  return { title: 'Confirm your payment', inner };
}

function endedPage({ returnUrl }: Challenge) {
  const inner = `<p>Nothing is left to decide.</p>\n<p><a href="${escaped(returnUrl)}">Back to the shop</a></p>`;
  return { title: 'This payment has ended', inner };
}
