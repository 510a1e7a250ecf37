import { describe, expect, it } from 'vitest';
import { openHttpFake, sendJson } from '../../support/http-fake.ts';
import { type FakeLabelStudio, openFakeLabelStudio } from '../../support/label-studio/fake-label-studio.ts';
import { createLabelStudio } from '../../support/label-studio/label-studio-harness.ts';

const { signal } = new AbortController();
const owner = { email: '', password: '', legacyToken: 'f'.repeat(40) };

const check = (site: { url: string }, settings = {}) => createLabelStudio({ owner, ...site }, settings).check(signal);

async function openWith(change: (settings: FakeLabelStudio['settings']) => void) {
  const fake = await openFakeLabelStudio();
  change(fake.settings);
  return fake;
}

it('is identified by the time at which its organization was created', async () => {
  const fake = await openFakeLabelStudio();
  const identity = await createLabelStudio(fake).identify?.(signal);
  expect(identity).toMatch(/^organization 1 of \d{4}-\S+Z$/);
  expect(await createLabelStudio(fake).identify?.(signal)).toBe(identity);
});

describe('a check of another server than Label Studio', () => {
  it('reports a page instead of JSON', async () => {
    const { url, requests } = await openHttpFake((_, response) => void response.end('<html>'));
    await expect(check({ url })).rejects.toThrow(
      'Could not read its version: the answer is not JSON; "url" must be the root of Label Studio',
    );
    expect(requests).toEqual([{ line: 'GET /api/version', authorization: undefined }]);
  });

  it('reports JSON of another program, and a missing path', async () => {
    const root = '"url" must be the root of Label Studio';
    const other = await openHttpFake((_, response) => sendJson(response, { name: 'cvat' }));
    await expect(check(other)).rejects.toThrow(root);
    const fake = await openFakeLabelStudio();
    const below = check({ url: `${fake.url}/projects` });
    await expect(below).rejects.toMatchObject({ code: 'not_found', message: expect.stringContaining(root) });
  });

  it('reports a path below the root, although Label Studio shows its version there', async () => {
    const { url } = await openHttpFake(({ url: path = '' }, response) => {
      if (path.endsWith('/version')) return sendJson(response, { release: '1.23.2' });
      response.writeHead(404).end('<html>');
    });
    await expect(check({ url: `${url}/projects` })).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringMatching(/^Could not ask whose token it is: answered 404; "url" must/),
    });
  });
});

describe('a check of a Label Studio', () => {
  it.each(['1.19.0', '0.9.2'])('refuses version %s', async (release) => {
    const fake = await openWith((settings) => {
      settings.version = { release, edition: 'Community' };
    });
    await expect(check(fake)).rejects.toThrow(`Label Studio ${release} is too old`);
  });

  it.each([
    [{ release: '1.24.0', edition: 'Community' }, /^Label Studio 1\.24\.0 is newer than/],
    [{ release: '2.30.0', edition: 'Enterprise' }, /^Gangway was never tried with the Enterprise edition/],
    [{ release: '1.22.1', edition: 'Community' }, /^In Label Studio 1\.22\.1 every member can/],
  ])('says what to know of version %j', async (version, says) => {
    const fake = await openWith((settings) => {
      settings.version = version;
    });
    expect(await check(fake)).toEqual([
      expect.objectContaining({ isFailure: false, says: expect.stringMatching(says) }),
    ]);
  });

  it('refuses a token of another organization', async () => {
    const other = check(await openFakeLabelStudio(), { organization: 7 });
    await expect(other).rejects.toThrow('is in organization 1, not 7: set "organization"');
  });

  it('reports that everyone may sign up', async () => {
    const fake = await openWith((settings) => {
      settings.isSignUpOpen = true;
    });
    expect(await check(fake)).toEqual([
      {
        says: 'Anyone can sign up, including people who were removed',
        action: 'Start Label Studio with DISABLE_SIGNUP_WITHOUT_LINK=true',
        isFailure: true,
      },
    ]);
  });

  it('reports that nobody can sign up because a proxy breaks the form', async () => {
    const fake = await openWith((settings) => {
      settings.isFormRefused = true;
    });
    const [finding] = await check(fake);
    expect(finding).toMatchObject({ isFailure: true });
    expect(finding?.says).toContain('refuses the sign-up form even with the right link');
  });

  it('creates no account, and changes nothing', async () => {
    const fake = await openFakeLabelStudio();
    await check(fake);
    expect(fake.requests.filter((line) => !line.startsWith('GET '))).toEqual([
      'POST /user/signup/',
      'POST /user/signup/',
    ]);
    expect(await fake.api('GET', '/api/users/')).toHaveLength(1);
  });
});
