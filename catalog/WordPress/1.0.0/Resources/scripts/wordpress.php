#!/usr/bin/php
<?php
// What is done at a WordPress: install, status, users, addUser, removeUser, setPassword. JSON in, JSON out.

$given = json_decode(stream_get_contents(STDIN), true);
$command = $argv[1];
$_SERVER += ['HTTP_HOST' => 'localhost', 'REQUEST_URI' => '/', 'REQUEST_METHOD' => 'GET', 'SERVER_PROTOCOL' => 'HTTP/1.1'];
if ($command === 'install') {
    define('WP_INSTALLING', true);
}
ini_set('display_errors', 'stderr');

// Nobody is written to: the person who installs it knows.
function wp_new_blog_notification() {}

ob_start();
require '/usr/share/wordpress/wp-load.php';
require_once ABSPATH . 'wp-admin/includes/upgrade.php';
require_once ABSPATH . 'wp-admin/includes/user.php';

function fail($text) {
    fwrite(STDERR, $text . "\n");
    exit(1);
}

function user($name) {
    return get_user_by('login', $name) ?: fail("there is no user '$name'");
}

function install($given) {
    $changed = false;
    if (!is_blog_installed()) {
        wp_install($given['title'], $given['user'], $given['email'], true, '', wp_slash($given['password']), $given['language']);
        update_option('permalink_structure', '/%year%/%monthnum%/%postname%/');
        flush_rewrite_rules(false);
        $changed = true;
    } elseif ((int) get_option('db_version') !== (int) $GLOBALS['wp_db_version']) {
        wp_upgrade();
        $changed = true;
    }
    return ['changed' => $changed, 'version' => $GLOBALS['wp_version']];
}

function status($given) {
    return [
        'version' => $GLOBALS['wp_version'],
        'title' => get_option('blogname'),
        'posts' => (int) wp_count_posts()->publish,
        'pages' => (int) wp_count_posts('page')->publish,
        'comments' => (int) wp_count_comments()->approved,
        'users' => (int) count_users()['total_users'],
    ];
}

function users($given) {
    return array_map(
        fn($one) => ['user' => $one->user_login, 'email' => $one->user_email, 'role' => $one->roles[0] ?? ''],
        get_users(['orderby' => 'login'])
    );
}

function addUser($given) {
    $made = wp_insert_user([
        'user_login' => $given['user'],
        'user_email' => $given['email'],
        'user_pass' => $given['password'],
        'role' => $given['role'],
    ]);
    is_wp_error($made) && fail($made->get_error_message());
    return ['changed' => true];
}

function removeUser($given) {
    $one = user($given['user']);
    $heir = $given['heir'] === null ? null : user($given['heir'])->ID;
    if ($heir === $one->ID) {
        fail('nobody inherits from themselves');
    }
    $others = array_filter(get_users(['role' => 'administrator']), fn($other) => $other->ID !== $one->ID);
    if (!$others) {
        fail("'{$given['user']}' is the last administrator");
    }
    wp_delete_user($one->ID, $heir);
    return ['changed' => true];
}

function setPassword($given) {
    $one = user($given['user']);
    wp_set_password($given['password'], $one->ID);
    WP_Session_Tokens::get_instance($one->ID)->destroy_all();
    return ['changed' => true];
}

$commands = ['install', 'status', 'users', 'addUser', 'removeUser', 'setPassword'];
in_array($command, $commands, true) || fail("there is no command '$command'");
$answer = $command($given);
ob_end_clean();
echo json_encode($answer);
