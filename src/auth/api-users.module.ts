import { Module } from '@nestjs/common';
import { MerchantsModule } from '../merchants/merchants.module.js';
import { ApiUsersService } from './api-users.service.js';
import { Passwords } from './passwords.js';
import { SessionsService } from './sessions.service.js';

/** API users, their passwords and their sessions: for login, and for the operator's commands, which need no tokens. */
@Module({
  imports: [MerchantsModule],
  providers: [ApiUsersService, Passwords, SessionsService],
  exports: [ApiUsersService, Passwords, SessionsService],
})
export class ApiUsersModule {}
