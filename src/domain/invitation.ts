/** How somebody gets in who has no login yet. Held to be secret, and kept until they were told. */
export type InvitationContent =
  | { kind: 'link'; url: string }
  /** `url` is null where a crash left open what the tool answered. */
  | { kind: 'password'; url: string | null; username: string; password: string };

export type InvitationKind = InvitationContent['kind'];

/** Who told them: a mail, or an operator who was shown it once. */
export type DeliveredBy = 'mail' | 'operator';

/** What a text that tells them may name, as `{link}`. */
export const placeholders = ['link', 'project', 'name', 'expires'] as const;

export type Placeholder = (typeof placeholders)[number];

/** Every word in braces, whether it is one of ours or not. */
export const placeholderPattern = /\{([A-Za-z]\w*)\}/g;
