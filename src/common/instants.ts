/** RFC 3339, section 5.6, at most milliseconds. */
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,3})?(Z|[+-]\d{2}:\d{2})$/;

/** Whether a text is an instant; 30 February is not. */
export function isInstant(text: unknown): text is string {
  if (typeof text !== 'string' || !INSTANT.test(text)) return false;
  const local = new Date(text.replace(/(Z|[+-]\d{2}:\d{2})$/, 'Z'));
  return !Number.isNaN(Date.parse(text)) && !Number.isNaN(local.getTime()) && local.toISOString().startsWith(text.slice(0, 10));
}
