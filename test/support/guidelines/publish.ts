import { onTestFinished } from 'vitest';
import { type Guideline, toGuideline } from '../../../src/guidelines/to-guideline.ts';
import { createEmployerSource } from '../../../src/marketplace/employer/create-employer-source.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';

/** A manual of one job, in a marketplace of its own. */
export interface PublishedManual {
  /** Edits the first page without publishing it. */
  edit(text: string): void;
  publish(): void;
  /** What its job's trainers should be shown, read and converted as Gangway does it. */
  read(signal: AbortSignal): Promise<Guideline>;
}

const t = (text: string, ...marks: object[]) => ({ type: 'text', text, marks });
const p = (...content: object[]) => ({ type: 'paragraph', content });
const doc = (...content: object[]) => ({ type: 'doc', content });
const link = (href: string) => ({ type: 'link', attrs: { href } });
const list = (type: string, ...texts: string[]) => ({
  type,
  content: texts.map((text) => ({ type: 'listItem', content: [p(t(text))] })),
});

/** Every kind of block, and what must not get through. */
const page = doc(
  { type: 'heading', attrs: { level: 1 }, content: [t('What counts')] },
  p(t('Every '), t('whole', { type: 'bold' }), t(' car & "van", it\'s < 5 m; see ')),
  p(t('the list', link('https://example.com/?a=1&b=2')), { type: 'hardBreak' }, t('  two lines')),
  list('bulletList', 'red', 'blue'),
  list('orderedList', 'first', 'second'),
  { type: 'codeBlock', content: [t('<car id="1">\n  </car>')] },
  {
    type: 'table',
    content: [
      ['kind', 'label'],
      ['van', 'car'],
    ].map((cells) => ({
      type: 'tableRow',
      content: cells.map((cell) => ({ type: 'tableCell', content: [p(t(cell))] })),
    })),
  },
  { type: 'blockquote', content: [p(t('1. no list, # no heading, *no* emphasis, e\u0301 \u{1F600}'))] },
  { type: 'horizontalRule' },
  p(t('<script>alert(1)</script><img src=x onerror=alert(1)>'), t('run', link('javascript:alert(1)'))),
  p(
    t('</p><iframe src="https://evil.example"></iframe><!-- --> [x](javascript:alert(1)) &lt;b&gt; \u202e\u0000\ud800'),
  ),
  { type: 'script', content: [t('alert(2)')] },
  { type: 'iframe', attrs: { src: 'https://evil.example' } },
  { type: 'image', attrs: { src: 'https://evil.example/a.png', alt: 'a car' } },
);

export async function openManual(): Promise<PublishedManual> {
  const sandbox = createSandbox();
  const { employerBaseUrl: baseUrl } = await sandbox.start();
  onTestFinished(() => sandbox.stop());
  const { accountId, token } = sandbox.createAccount();
  const { id: jobId } = sandbox.createJob({ accountId });
  const { manualId, pageIds } = sandbox.createManual(accountId, {
    bindings: [{ targetId: jobId }],
    pages: [
      { title: 'Cars', content: page },
      { title: 'Lights', content: doc(p(t('Below'))), parent: 0 },
      { title: 'Pay', content: doc(p(t('Not for trainers'))), audience: 'ADMIN' },
    ],
  });
  const links = { list: unused, create: unused, remove: unused };
  const source = createEmployerSource({ baseUrl, token, links });

  return {
    edit: (text) => void sandbox.editPage(pageIds[0] ?? '', { content: doc(p(t(text))) }),
    publish: () => void sandbox.publishManual(manualId),
    async read(signal) {
      const publication = (await source.readPublications?.([jobId], signal))?.get(jobId);
      if (publication === undefined) throw new Error('nothing is published');
      return toGuideline(publication);
    },
  };
}

async function unused(): Promise<never> {
  throw new Error('no link is read here');
}
