import type { Request, Response } from 'express';
import type { SharedWithApi } from '../console/console-parts.ts';
import type { Operator } from '../console/operator.ts';
import type { RefusedToken } from '../console/sign-in/refused-tokens.ts';
import { AppError } from '../domain/errors.ts';
import type { Role } from '../operations/operation.ts';

export type Bearer = ReturnType<typeof createBearer>;

/** Tells whose a request is, by the token it bears. */
export function createBearer({ tokens, limit, refused, alwaysSignedIn }: SharedWithApi) {
  /** @throws AppError `unauthenticated`, or `rate_limited` after several wrong tokens */
  function mayRead(request: Request, response: Response): Operator {
    const { authorization } = request.headers;
    if (authorization === undefined && alwaysSignedIn !== undefined) return { ...alwaysSignedIn, role: 'viewer' };
    response.set('WWW-Authenticate', 'Bearer');
    const address = request.ip ?? '';
    const report = (reason: RefusedToken['reason']) => refused.report({ where: 'api', reason, address });
    if (authorization === undefined) {
      report('missing');
      throw new AppError('unauthenticated', 'Send "Authorization: Bearer <token>" with a token of console.tokens');
    }
    const waitMs = limit.waitMs(address);
    if (waitMs > 0) {
      report('too_many_tries');
      response.set('Retry-After', String(Math.ceil(waitMs / 1000)));
      throw new AppError('rate_limited', 'Too many wrong tokens came from this address: wait a minute');
    }
    const [, token = ''] = /^Bearer +(\S.*)$/i.exec(authorization) ?? [];
    const owner = tokens.find(token);
    if (owner === undefined) {
      limit.noteFailure(address, authorization);
      report('wrong');
      throw new AppError('unauthenticated', 'This is no token of console.tokens');
    }
    response.removeHeader('WWW-Authenticate');
    return { name: owner.name, role: owner.role };
  }

  return {
    mayRead,
    /** @throws AppError also `forbidden`, where the role does not suffice */
    mustHave(role: Role, request: Request, response: Response): Operator {
      const operator = mayRead(request, response);
      if (role === 'operator' && operator.role !== 'operator') {
        throw new AppError('forbidden', 'This token is of a viewer, and only operators can do this');
      }
      return operator;
    },
  };
}
