import { Module } from '@nestjs/common';
import { MerchantsModule } from '../merchants/merchants.module.js';
import { ApiUsersService } from './api-users.service.js';
import { Passwords } from './passwords.js';

/** API users and their passwords: for the login, and for the operator's commands, which need no tokens. */
@Module({
  imports: [MerchantsModule],
  providers: [ApiUsersService, Passwords],
  exports: [ApiUsersService, Passwords],
})
export class ApiUsersModule {}
