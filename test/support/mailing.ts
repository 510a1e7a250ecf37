import type { Config } from '../../src/config/config-schema.ts';
import type { Database } from '../../src/db/database.ts';
import { createMailing } from '../../src/notify/mail-worker.ts';
import { createSendMail } from '../../src/notify/send-mail.ts';
import { listWaiting } from '../../src/operations/members.ts';
import { createEngine } from './engine-harness.ts';
import { createSharedLinkTool } from './inviting-tool.ts';
import { openMailBox } from './mail-box.ts';

export type MailWorld = Awaited<ReturnType<typeof openMailWorld>>;

const never = new AbortController().signal;

/** A tool with one link that lets all trainers in, and a mail server that takes the mails with it. */
export async function openMailWorld(database: Database, options: Parameters<typeof createEngine>[1] = {}) {
  const engine = createEngine(database, options);
  const box = await openMailBox();
  const configure = (managedDomains: string[]): Config => {
    const marketplace = { ...engine.config.marketplace, managedDomains };
    return { ...engine.config, marketplace, mail: {} as Config['mail'] };
  };

  /** What mails, as a process does that has just started. */
  function createMailer({ of = database, server = box.server, managedDomains = [] as string[], styled = {} } = {}) {
    const style = { from: 'studio@example.com', subject: 'Into {project}', ...styled };
    const ctx = { ...engine, database: of, config: configure(managedDomains) };
    return createMailing(ctx, { send: createSendMail(server), style });
  }

  /** The invitations that wait. */
  const listed = () => listWaiting({ ...engine, config: configure([]) }, { limit: 10 });

  return {
    engine,
    tool: createSharedLinkTool(),
    box,
    createMailer,
    listed,
    async mailAll(mailer = createMailer()): Promise<void> {
      while ((await mailer(never)) === 'more');
    },
    /** What each of them waits for. */
    waiting: async () => (await listed()).map(({ waitsFor }) => waitsFor),
  };
}
