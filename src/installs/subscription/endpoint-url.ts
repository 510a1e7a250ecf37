/** Where the marketplace delivers to for an install. */
export function endpointUrlOf(publicUrl: string, install: string): string {
  return `${publicUrl}/webhooks/${install}`;
}

/** However it is written: a marketplace may give back `https://Bridge.example.com` in lower case. */
export function isAt(url: string, other: string | undefined): boolean {
  if (other === undefined || !URL.canParse(other)) return false;
  return new URL(other).href === new URL(url).href;
}
