/** The address to which the marketplace delivers for an install. */
export function endpointUrlOf(publicUrl: string, install: string): string {
  return `${publicUrl}/webhooks/${install}`;
}

/** Compares addresses as URLs: the marketplace may return `https://Bridge.example.com` in lower case. */
export function isAt(url: string, other: string | undefined): boolean {
  if (other === undefined || !URL.canParse(other)) return false;
  return new URL(other).href === new URL(url).href;
}
