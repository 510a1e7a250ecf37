/** How a trainer without a login gets into the tool. It is a secret that is deleted once it is delivered. */
export type InvitationContent =
  | { kind: 'link'; url: string }
  /** `url` is null if a crash lost the tool's answer. */
  | { kind: 'password'; url: string | null; username: string; password: string };

export type InvitationKind = InvitationContent['kind'];

/** How it was delivered: by mail, or by an operator, who sees it once. */
export type DeliveredBy = 'mail' | 'operator';

/** The placeholders of an invitation text, such as `{link}`. */
export const placeholders = ['link', 'project', 'name', 'expires'] as const;

export type Placeholder = (typeof placeholders)[number];

/** Any word in braces. */
export const placeholderPattern = /\{([A-Za-z]\w*)\}/g;
