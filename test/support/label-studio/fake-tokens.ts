import { randomUUID } from 'node:crypto';

/** The tokens that Label Studio gives out; what is not in here any more is worth nothing. */
export function createFakeTokens() {
  const personal = new Map<string, number>();
  const access = new Map<string, number>();

  return {
    /** How long access lasts. */
    lifeSeconds: 300,
    createPersonal(user: number): string {
      const token = toJwt({ token_type: 'refresh', exp: 8_102_479_790, iat: 1_795_279_790 });
      personal.set(token, user);
      return token;
    },
    revokePersonal: (token: string) => personal.delete(token),
    /** Undefined for a token that is not good. */
    exchange(token: string): string | undefined {
      const user = personal.get(token);
      if (user === undefined) return undefined;
      const iat = Math.floor(Date.now() / 1000);
      const given = toJwt({ token_type: 'access', exp: iat + this.lifeSeconds, iat });
      access.set(given, user);
      return given;
    },
    userOf: (accessToken: string) => access.get(accessToken),
    /** As after five minutes, or after the server's key was replaced. */
    endAccess: () => access.clear(),
  };
}

function toJwt(claims: object): string {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  return `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode({ ...claims, jti: randomUUID() })}.c2ln`;
}

export type FakeTokens = ReturnType<typeof createFakeTokens>;
