/** How a trainer without a login gets into the tool. It is a secret, and it is kept until it was delivered. */
export type InvitationContent =
  | { kind: 'link'; url: string }
  /** `url` is null if a crash lost the tool's answer. */
  | { kind: 'password'; url: string | null; username: string; password: string };

export type InvitationKind = InvitationContent['kind'];

/** Who delivered it: a mail, or an operator who saw it once. */
export type DeliveredBy = 'mail' | 'operator';

/** The placeholders that an invitation text may contain, as `{link}`. */
export const placeholders = ['link', 'project', 'name', 'expires'] as const;

export type Placeholder = (typeof placeholders)[number];

/** Every word in braces, whether it is a known placeholder or not. */
export const placeholderPattern = /\{([A-Za-z]\w*)\}/g;
