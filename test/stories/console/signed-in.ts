import { sqlite } from '../../support/databases.ts';
import { type Journey, openJourney } from '../../support/journey.ts';
import { until } from '../../support/until.ts';
import { type consoleTokens, createVisitor, type VisitedPage, type Visitor } from '../../support/visitor.ts';

export interface SignedIn extends Journey {
  visitor: Visitor;
  home: VisitedPage;
}

/** A journey, and a person who is signed in to its console. */
export async function openSignedIn(
  name: keyof typeof consoleTokens,
  options?: Parameters<typeof openJourney>[1],
): Promise<SignedIn> {
  const journey = await openJourney(sqlite, options);
  return { ...journey, ...(await signIn(journey, name)) };
}

export async function signIn({ consoleUrl }: Pick<Journey, 'consoleUrl'>, name: keyof typeof consoleTokens) {
  const visitor = createVisitor(consoleUrl);
  return { visitor, home: await visitor.signIn(name) };
}

/** The page that shows what became of an act: this one, or the page of an act under way once the act has ended. */
export async function outcomeOf(visitor: Visitor, page: VisitedPage): Promise<VisitedPage> {
  const isOver = ({ text }: VisitedPage) => !text.includes('Under way');
  if (isOver(page)) return page;
  return await until('the act has ended', () => visitor.visit(page.path), isOver);
}

export async function actsIn({ storage }: Pick<Journey, 'storage'>) {
  return await storage.database.kysely.selectFrom('audit').selectAll().orderBy('id').execute();
}

/** What a page would change: the addresses of its forms. */
export function formsOf({ html }: VisitedPage): (string | undefined)[] {
  return html.querySelectorAll('form[method=post]').map((form) => form.getAttribute('action'));
}

export function csrfOf({ html }: VisitedPage): string {
  return html.querySelector('[name=csrf]')?.getAttribute('value') ?? '';
}
