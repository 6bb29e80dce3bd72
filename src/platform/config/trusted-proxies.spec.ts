import express from 'express';
import { describe, expect, it } from '@jest/globals';
import { trustedProxies } from './network.js';

describe('TRUST_PROXY', () => {
  it.each([
    ['', false],
    ['  ', false],
    ['0', false],
    ['1', 1],
    ['10', 10],
    ['10.0.0.1', ['10.0.0.1']],
    ['10.0.0.0/8, 192.168.0.0/16,fd00::/8', ['10.0.0.0/8', '192.168.0.0/16', 'fd00::/8']],
    ['loopback, uniquelocal', ['loopback', 'uniquelocal']],
    ['::1', ['::1']],
    ['10.0.0.1/32, ::1/128', ['10.0.0.1/32', '::1/128']],
  ])('TRUST_PROXY=%j is parsed as %j, which Express accepts', (text, proxies) => {
    expect(trustedProxies(text)).toEqual(proxies);
    expect(() => express().set('trust proxy', proxies)).not.toThrow();
  });

  it.each([
    'true',
    'all',
    '*',
    '11',
    '-1',
    '1.5',
    '10.0.0.0/33',
    '10.0.0.0/0',
    '::/0',
    '::1/129',
    '10.0.0.0/8/8',
    '10.0.0/8',
    'proxy.local',
    '10.0.0.1,',
    '10.0.0.0/255.0.0.0',
  ])('TRUST_PROXY=%s is rejected', (text) => {
    expect(trustedProxies(text)).toBeUndefined();
  });
});
