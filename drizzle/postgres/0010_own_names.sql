-- A role sees its own rows here, not the names of the others.
ALTER TABLE shop_roles ENABLE ROW LEVEL SECURITY;
--> statement-breakpoint

CREATE POLICY own_role ON shop_roles USING (role = current_user);
