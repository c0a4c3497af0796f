<?php
// Written by Vetro at each deployment.
define('DB_NAME', '%DATABASE%');
define('DB_USER', '%USER%');
define('DB_PASSWORD', '%PASSWORD%');
define('DB_HOST', '%HOST%');
define('DB_CHARSET', 'utf8mb4');
define('WP_HOME', '%URL%');
define('WP_SITEURL', '%URL%');
define('WP_CONTENT_DIR', '/var/lib/wordpress/wp-content');
define('WP_LANG_DIR', '/usr/share/wordpress/wp-content/languages');
define('DISABLE_WP_CRON', true);
define('DISALLOW_FILE_EDIT', true);
define('DISALLOW_FILE_MODS', %FIXED%);
foreach (['AUTH_KEY', 'SECURE_AUTH_KEY', 'LOGGED_IN_KEY', 'NONCE_KEY', 'AUTH_SALT', 'SECURE_AUTH_SALT', 'LOGGED_IN_SALT', 'NONCE_SALT'] as $name) {
    define($name, hash_hmac('sha256', $name, '%SECRET%'));
}
