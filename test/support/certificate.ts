import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/**
 * Makes a self-signed certificate for 127.0.0.1 with `openssl`.
 *
 * @returns the certificate, and the file with it and its key that HAProxy reads
 */
export function makeCertificate(folder: string, file = 'edge.pem'): { pem: string; file: string } {
  const [key, certificate] = [path.join(folder, 'key'), path.join(folder, 'pem')];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '30', '-nodes'];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-keyout', key, '-out', certificate, ...subject], {
    stdio: 'ignore',
  });
  const pem = readFileSync(certificate, 'utf8');
  writeFileSync(path.join(folder, file), pem + readFileSync(key, 'utf8'));
  return { pem, file: path.join(folder, file) };
}
