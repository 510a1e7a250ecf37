import { onTestFinished } from 'vitest';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import type { EmployerControls } from '../../support/second-marketplace/employer-controls.ts';
import { openEmployerServer } from '../../support/second-marketplace/employer-server.ts';

/** What an exchange is had with. */
export interface Market extends EmployerControls {
  host: string;
  now(): number;
  wait(ms: number): Promise<void>;
}

/** What a message is in, rather than its attachment. */
const messageStates = new Map<string, 'DELETED' | 'HIDDEN'>([
  ['MESSAGE_DELETED', 'DELETED'],
  ['MESSAGE_HIDDEN', 'HIDDEN'],
]);

export async function openSecond(): Promise<Market> {
  const clock = createFakeClock();
  const market = await openEmployerServer(clock);
  onTestFinished(() => market.stop());
  return { ...market, now: () => clock.now().getTime(), wait: async (ms) => clock.advance(ms) };
}

export async function openSandbox(): Promise<Market> {
  const clock = createFakeClock();
  const sandbox = createSandbox({ timeScale: 0, seed: 'test', clock });
  const { url } = await sandbox.start();
  onTestFinished(() => sandbox.stop());
  return {
    host: url,
    now: () => clock.now().getTime(),
    async wait(ms) {
      clock.advance(ms);
      await sandbox.advance(ms);
    },
    createAccount({ isClaimed = true, featuresOff = [], hasTeams = true } = {}) {
      const account = sandbox.createAccount({ isClaimed, featuresOff });
      sandbox.setAccount(account.accountId, { hasTeam: hasTeams });
      return account;
    },
    createJob: (accountId) => sandbox.createJob({ accountId }).id,
    hire: (jobId) => sandbox.hire({ jobId }).contractId,
    fund: (contractId) => void sandbox.fundMilestone(contractId),
    bill: (contractId) => void sandbox.billContract(contractId),
    resolve: (approvalId, status) => void sandbox.resolveApproval(approvalId, status),
    pay: (topUpId) => void sandbox.settlePayment(topUpId),
    propose(jobId, hasInterview) {
      const messages = [
        { role: 'interviewer' as const, content: 'Hello.' },
        { role: 'candidate' as const, content: 'Hello.' },
      ];
      return sandbox.propose({ jobId, ...(hasInterview && { interview: { messages } }) }).proposalId;
    },
    attach(accountId, { bytes, unavailable }) {
      const { contractId } = sandbox.hire({ jobId: sandbox.createJob({ accountId }).id });
      const state = unavailable === null ? undefined : messageStates.get(unavailable);
      const refusal = unavailable !== null && state === undefined ? { refusal: unavailable } : {};
      const file = { contentBase64: bytes.toString('base64'), fileName: 'signs.png', ...refusal };
      const { messageId, attachmentIds } = sandbox.writeMessage(`dm_${contractId}`, { attachments: [file] });
      if (state !== undefined) sandbox.setMessageState(messageId, { state });
      return { messageId, attachmentId: attachmentIds[0] ?? '' };
    },
    createManual(accountId) {
      const { manualId, pageIds } = sandbox.createManual(accountId, { pages: [{ title: 'Cars' }] });
      sandbox.publishManual(manualId);
      return { manualId, pageId: pageIds[0] ?? '' };
    },
  };
}
