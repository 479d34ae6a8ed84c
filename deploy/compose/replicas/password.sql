-- The password of the role that role.sql creates.
\set password `cat /run/secrets/pds-password`
ALTER ROLE pds PASSWORD :'password';
