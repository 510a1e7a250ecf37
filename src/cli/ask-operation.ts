import { answer } from '../operations/answer.ts';
import { fieldsOfPath, type Operation, type OperationContext } from '../operations/operation.ts';
import { type OperationName, type Session, withProgress } from './session.ts';

/** Where a command's operation runs: in this process, or at a running instance. */
export interface Ask {
  /** @param input checked by the operation's schema */
  answer(operation: Operation, input: object): Promise<object>;
  installs(): Promise<string[]>;
}

export async function openAsk(
  session: Session,
  operation: Operation,
  input: object,
  work: (ask: Ask) => Promise<void>,
): Promise<void> {
  const { remote } = session.line;
  if (remote !== undefined) {
    await work(await openRemoteAsk(session, remote));
    return;
  }
  const { withContext } = await import('./with-context.ts');
  await withContext(session, operation, input, async (ctx, loops) => {
    const { decidedBy } = await import('./with-storage.ts');
    const { terminal } = session;
    await work({
      answer: (one, input) =>
        withProgress(terminal, (onProgress) => {
          const call = { by: decidedBy(), role: 'operator', signal: terminal.signal, loops, onProgress } as const;
          return answer(one, input, ctx, call);
        }),
      installs: async () => namesOf(ctx),
    });
  });
}

function namesOf({ installs }: OperationContext): string[] {
  return [...installs.keys()].sort();
}

async function openRemoteAsk(session: Session, url: string): Promise<Ask> {
  const { openRemote } = await import('./open-remote.ts');
  const remote = openRemote(session, url);
  return {
    async answer({ method, path }, input) {
      const names = fieldsOfPath(path);
      const fields = Object.entries(input);
      const params = Object.fromEntries(fields.filter(([name]) => names.includes(name)));
      const rest = Object.fromEntries(fields.filter(([name]) => !names.includes(name)));
      const given = method === 'get' ? { params, query: rest } : { params, body: rest };
      return await remote.ask<object>(`${method.toUpperCase()} ${path}` as OperationName, given);
    },
    async installs() {
      const { installs } = await remote.ask<{ installs: { install: string }[] }>('GET /installs');
      return installs.map(({ install }) => install).sort();
    },
  };
}
