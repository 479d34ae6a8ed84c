-- The role of the service on PostgreSQL, with the rights that it needs and no others. A superuser
-- runs this in the new database:
--
--   createdb pds
--   psql --dbname=pds --file=role.sql
--   psql --dbname=pds --command='\password pds'
CREATE ROLE "pds" LOGIN;
REVOKE ALL ON DATABASE "pds" FROM PUBLIC;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT CONNECT ON DATABASE "pds" TO "pds";
-- Each import creates tables, and drops those of older generations.
GRANT USAGE, CREATE ON SCHEMA public TO "pds";
