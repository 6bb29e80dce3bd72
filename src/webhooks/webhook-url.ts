import { isIP } from 'node:net';

/** Names that only a private network resolves. */
const PRIVATE_NAME = /^[^.]*$|\.(localhost|local|localdomain|internal|lan|home\.arpa)$/;

/**
 * Returns what is wrong with the URL of a webhook endpoint, as the end of a sentence. Which address a name has is
 * checked by each connection.
 *
 * @param allowsPrivate whether WEBHOOK_ALLOW_PRIVATE is on.
 */
export function webhookUrlFault(text: string, allowsPrivate: boolean): string | undefined {
  if (!URL.canParse(text)) return 'must be a URL, such as https://shop.example/webhooks';
  const { protocol, hostname, port, username, password, hash, href } = new URL(text);
  if (href.length > 2000) return 'must have at most 2000 characters when it is percent-encoded';
  if (username !== '' || password !== '') return 'must not have a user or a password: check the signature instead';
  if (hash !== '') return 'must not have a fragment';
  if (allowsPrivate) return ['https:', 'http:'].includes(protocol) ? undefined : 'must begin with https:// or http://';
  if (protocol !== 'https:') return 'must begin with https://';
  if (port !== '') return 'must use port 443';
  const name = hostname.replace(/\.+$/, '');
  if (isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0) return 'must have a host name, not an IP address';
  return PRIVATE_NAME.test(name) ? 'must have a public host name' : undefined;
}
