import { Module } from '@nestjs/common';
import { MerchantsModule } from '../merchants/merchants.module.js';
import { ApiUsersService } from './api-users.service.js';
import { Passwords } from './passwords.js';
import { SessionsService } from './sessions.service.js';
import { UserNames } from './user-names.service.js';

/**
 * API users, their passwords and their sessions. Separate from `AuthModule` because the operator's CLI needs no tokens.
 */
@Module({
  imports: [MerchantsModule],
  providers: [ApiUsersService, Passwords, SessionsService, UserNames],
  exports: [ApiUsersService, Passwords, SessionsService, UserNames],
})
export class ApiUsersModule {}
