/** What the fake CVAT answers. */
export interface CvatAnswer {
  status: number;
  body?: unknown;
  /** Instead of a body of JSON. */
  csv?: string;
  html?: string;
  headers?: Record<string, string>;
}

export const brokenDown: CvatAnswer = { status: 500, html: '<h1>Server Error (500)</h1>' };

export function refuse(status: number, detail: string): CvatAnswer {
  return { status, body: { detail } };
}
