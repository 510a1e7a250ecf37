/** @param contentEncoding the header, whose names may be in any case (RFC 9110, 8.4.1) */
export function isCompressed(contentEncoding = ''): boolean {
  return !['', 'identity'].includes(contentEncoding.trim().toLowerCase());
}
