import { existsSync, renameSync } from 'node:fs';
import path from 'node:path';
import { takeInvitation } from '../../../src/converge/invitation-store.ts';
import { createDiskLook, type Disk } from '../../../src/db/disk.ts';
import { createFileLook } from '../../../src/db/sqlite-file.ts';
import { deleteOld } from '../../../src/inbox/storage-store.ts';
import { createAlerts } from '../../../src/lib/alerts.ts';
import { createMetrics } from '../../../src/lib/metrics.ts';
import { createWebhookChannel } from '../../../src/notify/channels.ts';
import { mendAfterSetBack } from '../../../src/reconcile/read/clock-worker.ts';
import { createAlerting } from '../alerting.ts';
import { convergeDue } from '../converging.ts';
import { type OpenFresh, openForTest } from '../databases.ts';
import { contractStarted } from '../deliveries.ts';
import { openSandbox } from '../either-market.ts';
import { inStudio } from '../engine-harness.ts';
import { fullEvent } from '../event-bodies.ts';
import { createFolder } from '../folder.ts';
import { answering, openHook } from '../hook.ts';
import { hours, minutes } from '../incident.ts';
import { openMailBox, refusal } from '../mail-box.ts';
import { openMailWorld } from '../mailing.ts';
import { createTelling, newNotice, secret } from '../notices.ts';
import { openReceiver, type TestReceiver } from '../receiver-harness.ts';
import { openSubscriptionWorld } from '../subscription-world.ts';
import { type AlertStories, openIncident } from './alert-story.ts';

const never = new AbortController().signal;
const mib = 1024 * 1024;

/** A disk of which so much is free until somebody makes room. */
async function openDisk(openFresh: OpenFresh, freeFraction: number) {
  const { alerting, incident } = await openIncident(openFresh);
  const { database, clock, logger } = incident.engine;
  const alerts = createAlerts(logger, createMetrics(), alerting.hears({ database, clock, logger }));
  let disk: Disk = { freeBytes: mib, freeFraction: 0.5 };
  const look = createDiskLook(alerts, () => disk, []);
  look();
  return {
    alerting,
    async find() {
      disk = { ...disk, freeFraction };
      look();
    },
    async end() {
      disk = { ...disk, freeFraction: 0.5 };
      look();
    },
  };
}

/** A receiver that is asked itself whether it would store a delivery. */
async function openAsked(openFresh: OpenFresh, options: Parameters<typeof openReceiver>[1]) {
  let receiver: TestReceiver | undefined;
  const alerting = createAlerting({ deferralOf: async (install) => await receiver?.wouldDefer(install) });
  const database = await openFresh();
  receiver = await openReceiver(database, { ...options, hears: alerting.hears });
  return { alerting, database, receiver };
}

/** A signed event of the largest size. Each number gives another one. */
function largest(number: number): string {
  const text = contractStarted(number);
  return text.padEnd(mib / 4 - (Buffer.byteLength(text) - text.length));
}

/** What comes in and goes out: deliveries, endpoints, mails, notices, and the time. */
export const messageStories = {
  async storage_used_up(openFresh) {
    const { alerting, database, receiver } = await openAsked(openFresh, { limits: { storedBytes: mib } });
    let number = 0;
    for (; number < 3; number += 1) await receiver.deliver(largest(number));
    return {
      alerting,
      find: () => receiver.deliver(largest(number)),
      async end() {
        await database.kysely.updateTable('delivery').set({ nextAttemptAt: null }).execute();
        await deleteOld(receiver.storage.database, '2099-01-01T00:00:00.000Z', 100);
      },
    };
  },

  async disk_short(openFresh) {
    let free = 40 * mib;
    const limits = { reserveBytes: 32 * mib };
    const { alerting, receiver } = await openAsked(openFresh, { limits, freeBytes: () => free });
    await receiver.deliver(largest(0));
    let number = 1;
    return {
      alerting,
      async find() {
        free = 20 * mib;
        for (let count = 0; count < 24; count += 1) {
          await receiver.deliver(largest(number));
          number += 1;
          receiver.clock.advance(2000);
        }
      },
      async end() {
        free = 40 * mib;
        receiver.clock.advance(minutes);
      },
    };
  },

  async database_lost(openFresh) {
    const { alerting, incident } = await openIncident(openFresh);
    const { database, clock, logger } = incident.engine;
    const file = path.join(createFolder(), 'gangway.db');
    const lost = openForTest(`sqlite:${file}`);
    const alerts = createAlerts(logger, createMetrics(), alerting.hears({ database, clock, logger }));
    const look = createFileLook(lost, alerts);
    look();
    return {
      alerting,
      async find() {
        if (existsSync(file)) renameSync(file, `${file}-away`);
        look();
      },
      async end() {
        renameSync(`${file}-away`, file);
        look();
      },
    };
  },

  disk_low: (openFresh) => openDisk(openFresh, 0.09),
  disk_full: (openFresh) => openDisk(openFresh, 0.01),

  async endpoint_trouble(openFresh) {
    const alerting = createAlerting();
    const options = { hasConfiguredSecrets: true, hears: alerting.hears };
    const world = await openSubscriptionWorld(openSandbox, await openFresh(), options);
    return {
      alerting,
      find: () => world.check(),
      async end() {
        await world.makeByHand();
        await world.check();
      },
    };
  },

  async endpoint_disabled(openFresh) {
    const alerting = createAlerting();
    const options = { hasConfiguredSecrets: true, hears: alerting.hears };
    const world = await openSubscriptionWorld(openSandbox, await openFresh(), options);
    const { id } = await world.makeByHand();
    await world.check();
    return {
      alerting,
      async find() {
        await world.api.updateEndpoint(id, { status: 'DISABLED' }, never);
        await world.check();
      },
    };
  },

  async invitation_refused(openFresh) {
    const alerting = createAlerting();
    const mails = await openMailWorld(await openFresh(), { hears: alerting.hears });
    const { engine, tool, createMailer, mailAll } = mails;
    await engine.apply([fullEvent({ type: 'contract.started' })]);
    await convergeDue(engine, tool);
    const { server } = await openMailBox({ onRcptTo: (_address, _session, done) => done(refusal(550, 'unknown')) });
    return {
      alerting,
      find: () => mailAll(createMailer({ server })),
      end: () => takeInvitation(engine, 1, { actor: 'ops', at: engine.clock.now().toISOString() }),
    };
  },

  async notification_failed(openFresh) {
    const alerting = createAlerting({ channel: 'chat' });
    const telling = createTelling(await openFresh(), alerting.hears);
    const hook = await openHook();
    hook.answer = answering(410);
    const channel = createWebhookChannel('ops', { url: hook.url, secret }, telling.clock);
    return {
      alerting,
      async find() {
        await telling.add([channel], newNotice());
        await telling.sendAll(channel);
      },
    };
  },

  async clock_set_back(openFresh) {
    const { alerting, incident } = await openIncident(openFresh);
    const { engine } = incident;
    const ctx = { ...engine, installs: new Map([['acme', inStudio()]]) };
    const look = () => mendAfterSetBack(ctx, engine.clock.now().getTime());
    await look();
    return {
      alerting,
      async find() {
        engine.clock.advance(48 * hours);
        await look();
        engine.clock.advance(-48 * hours);
        await look();
      },
    };
  },
} satisfies AlertStories;
