import { describe, expect, it } from 'vitest';
import type { EmployerOptions } from '../../support/employer-journey.ts';
import {
  type GuidelineTool,
  guidelineTools,
  openGuidelineJourney,
} from '../../support/guidelines/guideline-journey.ts';
import { publishFromFiles } from '../../support/guidelines/manual-from-files.ts';
import { describeAnyDialect, isThorough } from '../../support/tries.ts';

/** For what the marketplace or the installs decide, and not the tool: all of them where all is tried. */
const anyTools = isThorough ? guidelineTools : guidelineTools.slice(0, 1);

describeAnyDialect('the manual of a job', (dialect) => {
  const opens =
    (openTool: () => Promise<GuidelineTool>) => async (options?: Parameters<typeof openGuidelineJourney>[2]) =>
      await openGuidelineJourney(dialect, await openTool(), options);

  describe.each(guidelineTools)('in %s', (_, openTool) => {
    const open = opens(openTool);

    it('is shown to trainers once it is published, and again when it is republished', async () => {
      const { signs, lamps, tool, write, follow, storage } = await open();
      const manual = write('Mark every sign.', signs.id);
      await follow();
      expect(await tool.read(signs.project)).toBe('');
      manual.publish();
      await follow();
      expect(await tool.shown(signs.project)).toEqual(['Signs', 'Mark every sign.']);
      expect(await tool.read(lamps.project)).toBe('');
      manual.edit('Mark every whole sign.');
      await follow();
      expect(await tool.shown(signs.project)).toEqual(['Signs', 'Mark every sign.']);
      manual.publish();
      await follow();
      await follow();
      expect(await tool.shown(signs.project)).toEqual(['Signs', 'Mark every whole sign.']);
      const acts = storage.database.kysely.selectFrom('audit').selectAll().where('action', '=', 'guidelines sync');
      expect(await acts.orderBy('id').execute()).toMatchObject([
        { actor: 'gangway', origin: 'schedule', before: null, after: `publication 1 of the manual ${manual.id}` },
        { after: `publication 2 of the manual ${manual.id}` },
      ]);
    });

    it('comes from a folder of files, and follows at once when it is published', async () => {
      const journey = await open();
      await publishFromFiles(journey, () => journey.tool.shown(journey.signs.project));
    });

    it('is not written over what was edited in the tool, unless an operator says so', async () => {
      const { signs, tool, write, follow, stateOf, api } = await open();
      const manual = write('Mark every sign.', signs.id);
      manual.publish();
      await follow();
      await tool.edit(signs.project, 'Ask Ben.');
      manual.edit('Mark every whole sign.');
      manual.publish();
      await follow();
      await follow();
      expect(await tool.read(signs.project)).toBe('Ask Ben.');
      expect(await stateOf(signs.project)).toMatchObject({ state: 'edited' });
      const { troubles } = await api.ask('statusShow');
      const blocked = { kind: 'guideline_unwritten', action: expect.stringContaining('--overwrite') };
      expect(troubles).toContainEqual(expect.objectContaining(blocked));
      await api.ask('guidelinesSync', { body: {} });
      expect(await tool.read(signs.project)).toBe('Ask Ben.');
      await api.ask('guidelinesSync', { body: { overwrite: true } });
      expect(await tool.shown(signs.project)).toEqual(['Signs', 'Mark every whole sign.']);
      expect(await stateOf(signs.project)).toEqual({ state: 'shown', says: null });
    });

    it('is not written over a text that was there before', async () => {
      const { signs, tool, write, follow, stateOf } = await open();
      await tool.edit(signs.project, 'Ask Ben.');
      write('Mark every sign.', signs.id).publish();
      await follow();
      expect(await tool.read(signs.project)).toBe('Ask Ben.');
      expect(await stateOf(signs.project)).toMatchObject({ state: 'foreign' });
    });
  });

  describe.each(anyTools)('in %s', (_, openTool) => {
    const open = opens(openTool);

    it('stays in the tool, whatever the marketplace answers or no longer has', async () => {
      const { sandbox, accountId, signs, tool, write, follow, failure } = await open();
      const manual = write('Mark every sign.', signs.id);
      manual.publish();
      await follow();
      const operations = ['GET /instructions/workspaces', 'GET /instructions/workspaces/{id}/manuals'];
      for (const answer of ['forbidden', 'serverError', 'cutOff', 'empty', 'notJson'] as const) {
        sandbox.setFaults(accountId, { [answer]: { probability: 1, operations } });
        await follow();
        expect(await tool.shown(signs.project)).toEqual(['Signs', 'Mark every sign.']);
        // An empty list says nothing, and is no failure.
        expect([answer, (await failure()) === null]).toEqual([answer, answer === 'empty']);
      }
      sandbox.setFaults(accountId);
      sandbox.bindManual(manual.id, { bindings: [] });
      await follow();
      sandbox.archiveManual(manual.id);
      await follow();
      expect(await failure()).toBeNull();
      expect(await tool.shown(signs.project)).toEqual(['Signs', 'Mark every sign.']);
    });

    it('is written for neither of two installs whose manuals for one project differ', async () => {
      let rival = { accountId: '', jobId: '' };
      const journey = await open({
        others(sandbox, [signs]) {
          const { accountId, token } = sandbox.createAccount();
          rival = { accountId, jobId: sandbox.createJob({ accountId }).id };
          const jobs = { [rival.jobId]: signs.project };
          return { rival: { source: 'employer', token, tool: 'list', guidelines: true, jobs } };
        },
      });
      const { sandbox, signs, tool, write, follow, stateOf } = journey;
      write('Mark every sign.', signs.id).publish();
      await follow();
      expect(await tool.shown(signs.project)).toEqual(['Signs', 'Mark every sign.']);
      const bindings = [{ targetId: rival.jobId }];
      const { manualId } = sandbox.createManual(rival.accountId, { bindings, pages: [{ title: 'Mark no sign.' }] });
      sandbox.publishManual(manualId);
      await follow();
      expect(await stateOf(signs.project)).toMatchObject({
        state: 'disputed',
        says: expect.stringContaining(manualId),
      });
      expect(await tool.shown(signs.project)).toEqual(['Signs', 'Mark every sign.']);
      sandbox.archiveManual(manualId);
      await follow();
      expect(await stateOf(signs.project)).toEqual({ state: 'shown', says: null });
    });

    it('is not read without the scope for it, and people come in all the same', async () => {
      const scopes: EmployerOptions['scopes'] = ['payments:read', 'messages:read', 'participant_work_email:read'];
      const { sandbox, signs, write, follow, failure, memberships } = await open({ scopes });
      write('Mark every sign.', signs.id).publish();
      sandbox.hire({ jobId: signs.id });
      await follow();
      expect(await failure()).toContain('instructions:read');
      expect((await memberships()).map(({ wanted }) => wanted)).toEqual([true]);
    });

    it('of two that are bound to one job, the one with the lower precedence is shown', async () => {
      const { signs, tool, write, follow } = await open();
      write('Mark no sign.', signs.id, 7).publish();
      write('Mark every sign.', signs.id, 3).publish();
      write('Mark two signs.', signs.id, 1);
      await follow();
      expect(await tool.shown(signs.project)).toEqual(['Signs', 'Mark every sign.']);
    });
  });
});
